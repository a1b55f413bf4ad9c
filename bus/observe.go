package bus

import (
	"context"
	"errors"
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

// endedCall is an exchange that has ended. If the goroutine of its handler has exited, err is nil and the status is 500.
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

// observe makes the [Interceptor] that reports ended calls: first to the metrics, then to the tap, then to the log. A log writer that
// panics does not change how the call ends.
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
