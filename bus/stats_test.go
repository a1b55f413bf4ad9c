package bus_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
)

// TestStats_CountCalls counts what a connection calls, and not what the framework asks on the way.
func TestStats_CountCalls(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example")
		b.newCalculators(2)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		call := func(ctx context.Context, address string) func() {
			return func() { _ = caller.Call(ctx, address, nil, nil) }
		}
		multicast := caller.Multicast(mustRequest(t, calculatorURL+"/who"))
		for name, test := range map[string]struct {
			make  func()
			count int64
		}{
			"a call":              {call(t.Context(), calculatorURL+"/add"), 1},
			"one that fails":      {call(t.Context(), calculatorURL+"/broken"), 1},
			"one that is retried": {call(t.Context(), "https://nobody.example/add"), 1},
			"another method":      {call(t.Context(), "PUT "+calculatorURL+"/add"), 1},
			"cancelled":           {call(over, calculatorURL+"/add"), 1},
			"no address":          {call(t.Context(), "https://a..b/add"), 0},
			"a multicast":         {func() { publish(t, caller, calculatorURL+"/who") }, 1},
			"a range never taken": {func() { caller.Multicast(mustRequest(t, calculatorURL+"/who")) }, 0},
			"two ranges": {func() {
				for range 2 {
					for _, err := range multicast {
						if err != nil {
							t.Error(err)
						}
					}
				}
			}, 2},
		} {
			before := caller.Stats().Calls
			test.make()
			if made := caller.Stats().Calls - before; made != test.count {
				t.Errorf("%s: counted %d times, want %d", name, made, test.count)
			}
		}
	})
}

// TestStats_CountInterceptedCalls holds that a call counts once, whatever the caller's own interceptors do with it.
func TestStats_CountInterceptedCalls(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		b.newCalculators(2)
		interceptors := map[string]bus.Interceptor{
			"none": func(next bus.CallFunc) bus.CallFunc { return next },
			"one that calls next twice": func(next bus.CallFunc) bus.CallFunc {
				return func(ctx context.Context, call *bus.Exchange) error {
					if err := next(ctx, call); err != nil {
						return err
					}
					return next(ctx, call)
				}
			},
			"one that refuses": func(bus.CallFunc) bus.CallFunc {
				return func(context.Context, *bus.Exchange) error {
					return bus.Errorf(http.StatusServiceUnavailable, "the circuit is open")
				}
			},
		}
		for name, interceptor := range interceptors {
			caller := b.connect("caller.example", bus.WithInterceptors(interceptor))
			for what, test := range map[string]struct {
				make  func()
				count int64
			}{
				"a call":               {func() { _ = caller.Call(t.Context(), calculatorURL+"/add", bus.Args{"x": 1, "y": 2}, nil) }, 1},
				"an http.Request":      {func() { _, _ = caller.Do(mustRequest(t, calculatorURL+"/add")) }, 1}, //nolint:bodyclose // it is in memory
				"unwritable arguments": {func() { _ = caller.Call(t.Context(), calculatorURL+"/add", bus.Args{"x": make(chan int)}, nil) }, 0},
				"a multicast": {func() {
					for _, err := range caller.Multicast(mustRequest(t, calculatorURL+"/who")) {
						_ = err
					}
				}, 1},
				"an event": {func() { _ = caller.Publish(t.Context(), "https://"+ordersHost+":417/on-ordered", nil) }, 1},
			} {
				if name == "one that refuses" && what == "unwritable arguments" {
					continue // which of both refuses it first depends on where the callee is
				}
				before := caller.Stats().Calls
				test.make()
				if made := caller.Stats().Calls - before; made != test.count {
					t.Errorf("%s with %s: counted %d times, want %d", what, name, made, test.count)
				}
			}
		}
	})
}

// TestStats_CountCallsOfHandlers counts them for the connection that makes them.
func TestStats_CountCallsOfHandlers(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, _ := newCalculator(t, w)
		front := w.connect("front.example")
		err := front.Handle("GET", "/", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for range 3 {
				if err := front.Call(r.Context(), calculatorURL+"/add", nil, nil); err != nil {
					t.Error(err)
				}
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		do(t, caller, "GET", "https://front.example/", "", "")
		if one, other := caller.Stats().Calls, front.Stats().Calls; one != 1 || other != 3 {
			t.Errorf("the caller made %d calls, the service %d", one, other)
		}
	})
}
