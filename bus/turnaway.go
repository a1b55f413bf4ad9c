package bus

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/wire"
)

// turnedAway counts the requests that no handler has seen, by status: they reach no interceptor, and are in no other metric of
// the server. The zero value is ready.
type turnedAway struct{ byStatus table[int, *atomic.Int64] }

func (t *turnedAway) of(status int) *atomic.Int64 {
	return t.byStatus.get(status, func(int) *atomic.Int64 { return new(atomic.Int64) })
}

// total returns how many there are of any status.
func (t *turnedAway) total() (total int64) {
	for _, count := range t.byStatus.all() {
		total += count.Load()
	}
	return total
}

// alwaysTold are the statuses of those who are too busy. They are told before there is any: of a counter that comes into being
// with a number, Prometheus does not see that it has grown to that.
func alwaysTold() []int { return []int{http.StatusServiceUnavailable, http.StatusGatewayTimeout} }

// expose writes them as one metric.
func (t *turnedAway) expose(text *metrics.Text, with func(...metrics.Label) []metrics.Label) {
	for _, status := range alwaysTold() {
		t.of(status)
	}
	counts := t.byStatus.all()
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		text.Counter("busline_rejected_total", "Requests that were refused before they reached an endpoint.", float64(counts[status].Load()),
			with(metrics.Label{Name: "status", Value: strconv.Itoa(status)})...)
	}
}

// turnAway answers a request that is not handled, and says why.
func (c *Conn) turnAway(in *incoming, why error) { c.respond(in, c.turnedDown(in, why)) }

// turnedDown counts a request that is not handled, and returns the answer. One whose caller has left does not count: nobody has
// missed anything.
func (c *Conn) turnedDown(in *incoming, why error) *wire.Response {
	response := c.refuse(in, why)
	if in.Address.Port != controlPort && !errors.Is(why, ErrCallerLeft) {
		c.turnedAway.of(response.Status).Add(1)
	}
	return response
}
