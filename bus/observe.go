package bus

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/metrics"
)

// telemetry is what a connection counts and reports of its calls.
type telemetry struct {
	tap      *tap           // keeps the latest calls while a client asks for them
	called   metrics.Family // by host, the outcomes of our calls
	rejected rejectedRequests
	calls    atomic.Int64      // calls, events included
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
	return x.in.Handler.CallerLeft() && (errors.Is(x.err, context.Canceled) || errors.Is(x.err, ErrCallerLeft) ||
		errors.Is(x.err, errAborted))
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

// rejectedRequests counts rejected requests by status, 400 to 599. They reach no interceptor, so that no other metric
// of the server has them. The zero value is ready.
type rejectedRequests struct{ byStatus [200]atomic.Int64 }

func (t *rejectedRequests) of(status int) *atomic.Int64 {
	return &t.byStatus[failure(status)-http.StatusBadRequest]
}

// total returns the number of rejected requests of all statuses.
func (t *rejectedRequests) total() (total int64) {
	for i := range t.byStatus {
		total += t.byStatus[i].Load()
	}
	return total
}

// expose writes the counts as one metric. Two statuses are there before the first rejection: Prometheus cannot compute
// an increase for a series whose first sample is not zero.
func (t *rejectedRequests) expose(text *metrics.Text, with func(...metrics.Label) []metrics.Label) {
	for i := range t.byStatus {
		status, count := http.StatusBadRequest+i, t.byStatus[i].Load()
		if count == 0 && status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
			continue
		}
		text.Counter("busline_rejected_total", "Requests that were refused before they reached an endpoint.", float64(count),
			with(metrics.Label{Name: "status", Value: strconv.Itoa(status)})...)
	}
}
