package interceptors

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
)

// RetryOption is an option of [Retry].
type RetryOption func(*retry)

type retry struct{ first, longest time.Duration }

// WithBackoff sets the pause before the second attempt and the longest one. Each pause is twice the one before, less up
// to a half of it at random. A duration that is not above zero stands for its default. Default: 50 ms and 2 s.
func WithBackoff(first, longest time.Duration) RetryOption {
	return func(r *retry) {
		if first > 0 {
			r.first = first
		}
		if longest > 0 {
			r.longest = longest
		}
	}
}

type idempotentKey struct{}

// WithIdempotent returns a context whose calls [Retry] may repeat although they may have been executed, and [Hedge] may
// send twice: running them twice does no harm. It does not travel to the callee.
func WithIdempotent(ctx context.Context) context.Context {
	return context.WithValue(ctx, idempotentKey{}, true)
}

// isIdempotent reports whether a call may be sent again although it may have run: its context says so, or it has a key.
func isIdempotent(ctx context.Context, call *bus.Exchange) bool {
	return ctx.Value(idempotentKey{}) != nil || call.Request.Header.Get(keyHeader) != ""
}

// Retry returns an interceptor that repeats unicast calls that the connection makes, after a pause, within the time
// budget of the call: where the next pause would outlast it, the caller gets the last error at once. A pause is at
// least what the service suggests as RetryAfter.
//
// It repeats a call that has not run ([bus.ExecutedNo]) and has failed with 503 or 429; with [WithIdempotent], or an
// Idempotency-Key, also one that may have run, or has, and has failed with 502, 503, 504 or 429: a service that keeps
// no keys runs it twice. It repeats no other call, none of a closed connection, and no multicast. What it serves it
// leaves alone.
func Retry(options ...RetryOption) bus.Interceptor {
	r := retry{first: 50 * time.Millisecond, longest: 2 * time.Second}
	for _, option := range options {
		option(&r)
	}
	return r.intercept
}

func (r retry) intercept(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, call *bus.Exchange) error {
		err := next(ctx, call)
		if call.Side == bus.ServerSide || call.Multicast || !mayRetry(ctx, call, call.Failure(err)) {
			return err
		}
		ends, hasEnd := ctx.Deadline()
		if !hasEnd { // or each attempt would have the default
			ends = time.Now().Add(wire.DefaultTimeBudget - call.Elapsed())
			limited, cancel := context.WithDeadline(ctx, ends)
			defer cancel()
			ctx = limited
		}
		for wait := min(r.first, r.longest); ; wait = min(2*wait, r.longest) {
			failed := call.Failure(err)
			if !mayRetry(ctx, call, failed) {
				return err
			}
			pause := max(failed.RetryAfter, wait/2) + rand.N(wait/2+1) //nolint:gosec // spreading is not a secret
			if time.Until(ends) <= pause {
				return err
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return err
			}
			err = next(ctx, call)
		}
	}
}

// mayRetry reports whether a call has failed for a reason that may pass, and may be repeated.
func mayRetry(ctx context.Context, call *bus.Exchange, failed *bus.Error) bool {
	if failed == nil || ctx.Err() != nil || errors.Is(failed, bus.ErrClosed) {
		return false
	}
	passing := []int{http.StatusServiceUnavailable, http.StatusTooManyRequests}
	if failed.Executed != bus.ExecutedNo {
		if !isIdempotent(ctx, call) {
			return false
		}
		passing = append(passing, http.StatusBadGateway, http.StatusGatewayTimeout)
	}
	return slices.Contains(passing, failed.Status)
}
