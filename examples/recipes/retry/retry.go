// Package retry repeats calls that have not run. docs/recipes/retry.md explains it.
package retry

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/busline/busline/bus"
)

const (
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
)

// NotExecuted is an interceptor that repeats a call while it is certain that no handler has run, and the time lasts.
func NotExecuted(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, call *bus.Exchange) error {
		for wait := firstWait; ; wait = min(2*wait, longestWait) {
			err := next(ctx, call)
			failed := call.Failure(err)
			if call.Side == bus.ServerSide || !mayRepeat(failed) {
				return err
			}
			pause := max(wait, failed.RetryAfter)
			if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
				return err
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return err
			}
		}
	}
}

// mayRepeat reports whether a call failed before a handler ran, for a reason that may pass.
func mayRepeat(failed *bus.Error) bool {
	return failed != nil && failed.Executed == bus.ExecutedNo &&
		failed.Status == http.StatusServiceUnavailable && !errors.Is(failed, bus.ErrClosed)
}

// Pay has three seconds, repetitions included.
func Pay(ctx context.Context, conn *bus.Conn, cents int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return conn.Call(ctx, "https://till.example/pay", bus.Args{"cents": cents}, nil)
}
