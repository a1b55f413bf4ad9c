package bus

import (
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/busline/busline/bus/metrics"
)

// turnedAway counts the requests that no handler has seen, by status: they reach no interceptor, and are in no other metric of
// the server. The zero value is ready.
type turnedAway struct{ byStatus table[int, *atomic.Int64] }

func (t *turnedAway) add(status int) {
	t.byStatus.get(status, func(int) *atomic.Int64 { return new(atomic.Int64) }).Add(1)
}

// total returns how many there are of any status.
func (t *turnedAway) total() (total int64) {
	for _, count := range t.byStatus.all() {
		total += count.Load()
	}
	return total
}

// expose writes them as one metric.
func (t *turnedAway) expose(text *metrics.Text, with func(...metrics.Label) []metrics.Label) {
	counts := t.byStatus.all()
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		text.Counter("busline_turned_away_total", "Requests that were refused before they reached an endpoint.", float64(counts[status].Load()),
			with(metrics.Label{Name: "status", Value: strconv.Itoa(status)})...)
	}
}

// turnAway answers a request that is not handled, and says why.
func (c *Conn) turnAway(in *incoming, why error) {
	response := c.refuse(in, why)
	if in.Address.Port != controlPort {
		c.turnedAway.add(response.Status)
	}
	c.respond(in, response)
}
