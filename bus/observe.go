package bus

import (
	"context"
	"time"
)

// endedCall is an exchange that has ended. If the goroutine of its handler has exited, err is nil and the status is 500.
type endedCall struct {
	*Exchange

	err    error
	status int
	took   time.Duration
}

// observe makes the [Interceptor] that reports ended calls: first to the metrics, then to the tap, then to the log. A log writer that
// panics does not change how the call ends.
func (c *Conn) observe(measure func(context.Context, endedCall), log func(endedCall)) Interceptor {
	return func(next CallFunc) CallFunc {
		return func(ctx context.Context, x *Exchange) (err error) {
			defer func() {
				call := endedCall{x, err, x.Status(err), x.Elapsed()}
				measure(ctx, call)
				c.tapEnded(call)
				c.shared.lines.Protect(func() { log(call) })
			}()
			return next(ctx, x)
		}
	}
}
