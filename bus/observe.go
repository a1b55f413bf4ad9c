package bus

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/metrics"
)

// telemetry is what a connection counts and tells of its calls.
type telemetry struct {
	tap      *tap           // keeps the latest calls while a client asks for them
	called   metrics.Family // by host, the outcomes of our calls
	rejected rejectedRequests
	made     atomic.Int64      // calls, events included
	dropped  atomic.Int64      // messages that could not be received
	throttle logqueue.Throttle // of the lines that others can cause as often as they like
}

// endedCall is an exchange that has ended. If the goroutine of its handler has exited, err is nil and the status is
// 500.
type endedCall struct {
	*Exchange

	err    error
	status int
	took   time.Duration
}

// isCancelled reports whether a handler has ended because its caller left.
func (x endedCall) isCancelled() bool {
	return x.in.Handler.CallerLeft() && (errors.Is(x.err, context.Canceled) || errors.Is(x.err, ErrCallerLeft) || errors.Is(x.err, errAborted))
}

// observe makes the [Interceptor] that reports ended calls: first to the metrics, then to the tap, then to the log. A
// log writer that panics does not change how the call ends.
func (c *Conn) observe(measure func(endedCall), log func(context.Context, endedCall)) Interceptor {
	return func(next CallFunc) CallFunc {
		return func(ctx context.Context, x *Exchange) (err error) {
			defer func() {
				call := endedCall{x, err, x.Status(err), x.Elapsed()}
				measure(call)
				c.tapEnded(call)
				c.shared.lines.Protect(func() { log(ctx, call) })
			}()
			return next(ctx, x)
		}
	}
}

// rejectedRequests counts rejected requests by status. They reach no interceptor, so that no other metric of the server
// has them. The zero value is ready.
type rejectedRequests struct{ byStatus table[int, *atomic.Int64] }

func (t *rejectedRequests) of(status int) *atomic.Int64 {
	return t.byStatus.get(status, func(int) *atomic.Int64 { return new(atomic.Int64) })
}

// total returns the number of rejected requests of all statuses.
func (t *rejectedRequests) total() (total int64) {
	for _, count := range t.byStatus.all() {
		total += count.Load()
	}
	return total
}

// zeroInitStatuses are the statuses that are exported with value 0 before the first rejection: Prometheus cannot
// compute an increase for a series whose first sample is not zero.
func zeroInitStatuses() []int { return []int{http.StatusServiceUnavailable, http.StatusGatewayTimeout} }

// expose writes the counts as one metric.
func (t *rejectedRequests) expose(text *metrics.Text, with func(...metrics.Label) []metrics.Label) {
	for _, status := range zeroInitStatuses() {
		t.of(status)
	}
	counts := t.byStatus.all()
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		text.Counter("busline_rejected_total", "Requests that were refused before they reached an endpoint.", float64(counts[status].Load()),
			with(metrics.Label{Name: "status", Value: strconv.Itoa(status)})...)
	}
}
