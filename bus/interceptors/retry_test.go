package interceptors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/interceptors"
)

// TestRetry_Repeats holds which calls are repeated.
func TestRetry_Repeats(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		err        error
		idempotent bool
		change     func(*bus.Exchange)
		repeats    bool
	}{
		{"not executed", failed(503, bus.ExecutedNo), false, nil, true},
		{"rate limited", failed(429, bus.ExecutedNo), false, nil, true},
		{"bad request", failed(400, bus.ExecutedNo), false, nil, false},
		{"no token", failed(401, bus.ExecutedNo), true, nil, false},
		{"not served", failed(404, bus.ExecutedNo), true, nil, false},
		{"out of time", failed(504, bus.ExecutedNo), true, nil, false},
		{"unknown", failed(503, bus.ExecutedUnknown), false, nil, false},
		{"executed", failed(503, bus.ExecutedYes), false, nil, false},
		{"unknown, idempotent", failed(503, bus.ExecutedUnknown), true, nil, true},
		{"executed, idempotent", failed(502, bus.ExecutedYes), true, nil, true},
		{"timed out, idempotent", failed(504, bus.ExecutedUnknown), true, nil, true},
		{"a bug, idempotent", failed(500, bus.ExecutedYes), true, nil, false},
		{"closed", errors.Join(failed(503, bus.ExecutedNo), bus.ErrClosed), false, nil, false},
		{"a multicast", failed(503, bus.ExecutedNo), false, func(x *bus.Exchange) { x.Multicast = true }, false},
		{"served", failed(503, bus.ExecutedNo), false, func(x *bus.Exchange) { x.Side = bus.ServerSide }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, call := t.Context(), clientCall()
				if test.idempotent {
					ctx = interceptors.WithIdempotent(ctx)
				}
				if test.change != nil {
					test.change(call)
				}
				inside := &script{ends: []error{test.err}}
				err := interceptors.Retry()(inside.call)(ctx, call)
				if test.repeats {
					require.NoError(t, err)
					assert.Equal(t, 2, inside.calls)
				} else {
					require.ErrorIs(t, err, test.err)
					assert.Equal(t, 1, inside.calls)
				}
			})
		})
	}
}

// TestRetry_Pauses holds how long the pauses are, and that none is begun that would outlast the budget.
func TestRetry_Pauses(t *testing.T) {
	t.Parallel()
	again := failed(503, bus.ExecutedNo)
	busy := &bus.Error{Status: 503, Executed: bus.ExecutedNo, RetryAfter: 3 * time.Second}
	for _, test := range []struct {
		name        string
		ends        []error
		budget      time.Duration // 0: the default
		least, most time.Duration
		calls       int
	}{
		{"grow", []error{again, again, again}, 0, 350 * time.Millisecond, 700 * time.Millisecond, 4},
		{"up to the longest", []error{again, again, again, again, again, again}, 0, 1750 * time.Millisecond,
			3500 * time.Millisecond, 7},
		{"as the service suggests", []error{busy, busy}, 0, 6 * time.Second, 6150 * time.Millisecond, 3},
		{"not beyond the deadline", []error{again, busy}, 3 * time.Second, 50 * time.Millisecond, 100 * time.Millisecond, 2},
		{"not beyond the default", []error{busy, busy, busy, busy, busy, busy, busy}, 0, 18 * time.Second,
			20 * time.Second, 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, began := t.Context(), time.Now()
				if test.budget > 0 {
					limited, cancel := context.WithTimeout(ctx, test.budget)
					defer cancel()
					ctx = limited
				}
				inside := &script{ends: test.ends}
				retry := interceptors.Retry(interceptors.WithBackoff(100*time.Millisecond, time.Second),
					interceptors.WithBackoff(0, 0))
				_ = retry(inside.call)(ctx, clientCall())
				assert.Equal(t, test.calls, inside.calls)
				assert.GreaterOrEqual(t, time.Since(began), test.least)
				assert.LessOrEqual(t, time.Since(began), test.most)
			})
		})
	}
}

// TestRetry_CallerLeaves holds that a caller that gives up during a pause gets the last error at once.
func TestRetry_CallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		busy := &bus.Error{Status: 503, Executed: bus.ExecutedNo, RetryAfter: 3 * time.Second}
		ended := make(chan error, 1)
		go func() { ended <- interceptors.Retry()((&script{ends: []error{busy}}).call)(ctx, clientCall()) }()
		synctest.Wait()
		began := time.Now()
		cancel()
		require.ErrorIs(t, <-ended, busy)
		assert.Zero(t, time.Since(began))
	})
}

// till takes money.
type till struct{}

// Pay takes a second.
func (till) Pay(context.Context) { time.Sleep(time.Second) }

// TestRetry_LateService has a service that comes after its caller, and has room for one call at a time.
func TestRetry_LateService(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		caller := b.Connect("caller.example", bus.WithInterceptors(interceptors.Retry()))
		ended := make(chan error, 2)
		for range 2 {
			go func() { ended <- caller.Call(t.Context(), "https://till.example/pay", nil, nil) }()
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		assert.Empty(t, ended)
		require.NoError(t, bus.Serve(b.Connect("till.example", bus.WithMaxHandlers(1)), till{}))
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
		assert.EqualValues(t, 2, caller.Stats().Calls)
	})
}
