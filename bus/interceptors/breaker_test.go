package interceptors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/interceptors"
)

// TestCircuitBreaker_Outcomes holds what opens a circuit.
func TestCircuitBreaker_Outcomes(t *testing.T) {
	t.Parallel()
	ailing, busy := failed(504, bus.ExecutedUnknown), failed(503, bus.ExecutedYes)
	absent := errors.Join(failed(503, bus.ExecutedNo), bus.ErrNoResponder)
	for _, test := range []struct {
		name  string
		ends  []error
		opens bool
	}{
		{"failures", []error{ailing, busy, failed(502, bus.ExecutedYes)}, true},
		{"too few", []error{ailing, busy}, false},
		{"a success in between", []error{ailing, busy, nil, ailing}, false},
		{"a rejection in between", []error{ailing, busy, failed(404, bus.ExecutedNo), ailing}, false},
		{"an absent host in between", []error{ailing, busy, absent, ailing}, true},
		{"an absent host", slices.Repeat([]error{absent}, 9), false},
		{"no broker", slices.Repeat([]error{errors.Join(failed(503, bus.ExecutedNo), bus.ErrDisconnected)}, 9), false},
		{"bugs", slices.Repeat([]error{failed(500, bus.ExecutedYes)}, 9), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inside := &script{ends: test.ends}
			handler := interceptors.CircuitBreaker(interceptors.WithFailures(3))(inside.call)
			for range test.ends {
				_ = handler(t.Context(), clientCall())
			}
			require.Equal(t, len(test.ends), inside.calls)
			err := handler(t.Context(), clientCall())
			if !test.opens {
				require.NoError(t, err)
				return
			}
			checkError(t, err, 503, bus.ExecutedUnknown) // of an exchange of a test
			require.EqualError(t, err,
				"503 Service Unavailable: calls of till.example have failed in a row, so none is made for a while")
			other := clientCall()
			other.Host = "other.example"
			require.NoError(t, handler(t.Context(), other))
		})
	}
}

// TestCircuitBreaker_LeavesAlone holds which calls no circuit stops, and that a caller that gives up does not open one.
func TestCircuitBreaker_LeavesAlone(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for _, test := range []struct {
		name   string
		ctx    context.Context //nolint:containedctx // of a case
		change func(*bus.Exchange)
	}{
		{"a multicast", t.Context(), func(x *bus.Exchange) { x.Multicast = true }},
		{"served", t.Context(), func(x *bus.Exchange) { x.Side = bus.ServerSide }},
		{"a caller that gave up", ended, func(*bus.Exchange) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inside := &script{ends: slices.Repeat([]error{failed(503, bus.ExecutedUnknown)}, 9)}
			handler := interceptors.CircuitBreaker(interceptors.WithFailures(1))(inside.call)
			for range 9 {
				call := clientCall()
				test.change(call)
				_ = handler(test.ctx, call)
			}
			assert.Equal(t, 9, inside.calls)
		})
	}
}

// TestCircuitBreaker_Recovers follows a circuit from closed to open, half-open, open and closed.
func TestCircuitBreaker_Recovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const open = 10 * time.Second
		ailing := failed(504, bus.ExecutedUnknown)
		inside := &script{ends: slices.Repeat([]error{ailing}, 6)}
		handler := interceptors.CircuitBreaker(interceptors.WithOpenTime(open))(inside.call)
		for range 5 {
			require.ErrorIs(t, handler(t.Context(), clientCall()), ailing)
		}
		time.Sleep(4 * time.Second)
		retryAfter := checkError(t, handler(t.Context(), clientCall()), 503, bus.ExecutedUnknown)
		assert.Equal(t, 6*time.Second, retryAfter)
		time.Sleep(6*time.Second + 1)
		require.ErrorIs(t, handler(t.Context(), clientCall()), ailing) // the one that is let through
		retryAfter = checkError(t, handler(t.Context(), clientCall()), 503, bus.ExecutedUnknown)
		assert.Equal(t, open, retryAfter)
		require.Equal(t, 6, inside.calls)
		time.Sleep(open + 1)
		for range 9 {
			require.NoError(t, handler(t.Context(), clientCall()))
		}
		assert.Equal(t, 15, inside.calls)
	})
}

// TestCircuitBreaker_Panic holds that a call that panics frees the place of the one that is let through.
func TestCircuitBreaker_Panic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		panics := false
		inside := &script{ends: []error{failed(503, bus.ExecutedYes)}}
		handler := interceptors.CircuitBreaker(interceptors.WithFailures(1))(func(ctx context.Context,
			call *bus.Exchange) error {
			if panics {
				panic("boom")
			}
			return inside.call(ctx, call)
		})
		require.Error(t, handler(t.Context(), clientCall()))
		time.Sleep(5*time.Second + 1)
		panics = true
		assert.Panics(t, func() { _ = handler(t.Context(), clientCall()) })
		panics = false
		time.Sleep(5*time.Second + 1)
		assert.NoError(t, handler(t.Context(), clientCall()))
	})
}

// TestCircuitBreaker_Bounded holds that hosts beyond the limit take the place of others.
func TestCircuitBreaker_Bounded(t *testing.T) {
	t.Parallel()
	inside := &script{ends: slices.Repeat([]error{failed(503, bus.ExecutedYes)}, 2000)}
	handler := interceptors.CircuitBreaker(interceptors.WithFailures(1))(inside.call)
	callHosts := func() {
		for number := range 2000 {
			call := clientCall()
			call.Host = fmt.Sprintf("host%d.example", number)
			_ = handler(t.Context(), call)
		}
	}
	callHosts()
	callHosts()
	assert.Equal(t, 2*2000-1024, inside.calls)
}

// ailing answers nothing in time.
type ailing struct{ asked int }

// Ask fails twice.
func (a *ailing) Ask() error {
	if a.asked++; a.asked <= 2 {
		return bus.Errorf(503, "the disk is slow")
	}
	return nil
}

// TestCircuitBreaker_WithRetry holds that a refused call has not run, and that a retry waits until the circuit lets it
// through.
func TestCircuitBreaker_WithRetry(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		require.NoError(t, bus.Serve(b.Connect("till.example"), new(ailing)))
		breaker := interceptors.CircuitBreaker(interceptors.WithFailures(2))
		plain := b.Connect("plain.example", bus.WithInterceptors(breaker))
		retrying := b.Connect("retrying.example", bus.WithInterceptors(interceptors.Retry(), breaker))
		ask := func(conn *bus.Conn) error { return conn.Call(t.Context(), "https://till.example/ask", nil, nil) }
		for range 2 {
			checkError(t, ask(plain), 503, bus.ExecutedYes)
		}
		retryAfter := checkError(t, ask(plain), 503, bus.ExecutedNo)
		assert.Equal(t, 5*time.Second, retryAfter)
		began := time.Now()
		require.NoError(t, ask(retrying))
		assert.Greater(t, time.Since(began), 5*time.Second)
		require.NoError(t, ask(plain))
	})
}
