package observing_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestInterceptor_RefusalHasNotRun holds what is said of calls that an interceptor refuses, on either side: no handler
// has seen them.
func TestInterceptor_RefusalHasNotRun(t *testing.T) {
	t.Parallel()
	refusal := errors.New("not now")
	refuse := func(bus.CallFunc) bus.CallFunc {
		return func(context.Context, *bus.Exchange) error { return refusal }
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.CalculatorHost, bus.WithInterceptors(refuse))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		err := w.Connect("caller.example").Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil)
		if got := kit.ExecutedOf(t, err); got != bus.ExecutedNo {
			t.Errorf("refused by the callee: executed %s", got)
		}
		caller := w.Connect("caller.example", bus.WithInterceptors(refuse))
		err = caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil)
		got := kit.ExecutedOf(t, err)
		assert.Equal(t, bus.ExecutedNo, got, "refused by the caller")
		assert.ErrorIs(t, err, refusal, "refused by the caller")
		for _, err := range caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) {
			if got := kit.ExecutedOf(t, err); got != bus.ExecutedNo {
				t.Errorf("a multicast: executed %s", got)
			}
		}
		err = events.Publish(t.Context(), caller, "https://orders.example:417/on-ordered", nil)
		got = kit.ExecutedOf(t, err)
		assert.Equal(t, bus.ExecutedNo, got, "an event")
		assert.ErrorIs(t, err, refusal, "an event")
	})
}

// TestInterceptor_ExitHasNotRun has one leave the goroutine, as a failing test does, before the handler and after it.
func TestInterceptor_ExitHasNotRun(t *testing.T) {
	t.Parallel()
	exit := func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			if call.Path == "/who" {
				_ = next(ctx, call)
			}
			runtime.Goexit()
			return nil
		}
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect(kit.CalculatorHost, bus.WithInterceptors(exit)), w.Connect("caller.example")
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		for path, want := range map[string]bus.Executed{"/add": bus.ExecutedNo, "/who": bus.ExecutedYes} {
			err := caller.Call(t.Context(), kit.CalculatorURL+path, nil, nil)
			got := kit.ExecutedOf(t, err)
			assert.Equal(t, want, got, path)
			assert.Equal(t, 500, bus.StatusOf(err), path)
		}
	})
}

// TestInterceptor_ErrorHasRun is of one that fails after the handler.
func TestInterceptor_ErrorHasRun(t *testing.T) {
	t.Parallel()
	spoil := func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			_ = next(ctx, call)
			return bus.Errorf(http.StatusTeapot, "spoilt")
		}
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		spoilt, plain := w.Connect("spoilt.example", bus.WithInterceptors(spoil)), w.Connect(kit.CalculatorHost)
		kit.Serve(t, spoilt, kit.Calculator{ID: spoilt.ID()})
		kit.Serve(t, plain, kit.Calculator{ID: plain.ID()})
		for caller, url := range map[*bus.Conn]string{w.Connect("caller.example"): "https://spoilt.example",
			spoilt: kit.CalculatorURL} {
			err := caller.Call(t.Context(), url+"/add", bus.Args{"x": 1}, nil)
			got := kit.ExecutedOf(t, err)
			assert.Equal(t, bus.ExecutedYes, got, url)
			assert.Equal(t, http.StatusTeapot, bus.StatusOf(err), url)
		}
	})
}

// TestInterceptor_RetryIsHonest calls again after an attempt that may have run. That the last attempt has not is then
// no proof that calling once more is safe.
func TestInterceptor_RetryIsHonest(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]func(context.Context, *bus.Exchange, bus.CallFunc) error{
		"is not sent": func(ctx context.Context, call *bus.Exchange, next bus.CallFunc) error {
			ended, end := context.WithCancel(ctx)
			end()
			return next(ended, call)
		},
		"is refused": func(ctx context.Context, call *bus.Exchange, next bus.CallFunc) error {
			call.Request.Header.Add("X-Refuse", "yes")
			return next(ctx, call)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.OverBoth(t, func(t *testing.T, w *kit.World) {
				callee := w.Connect(kit.CalculatorHost, bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
					return func(ctx context.Context, call *bus.Exchange) error {
						if call.Request.Header.Get("X-Refuse") != "" {
							return bus.Errorf(http.StatusServiceUnavailable, "refused")
						}
						return next(ctx, call)
					}
				}))
				kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
				caller := w.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
					return func(ctx context.Context, call *bus.Exchange) error {
						_ = next(ctx, call)
						return second(ctx, call, next)
					}
				}))
				err := caller.Call(t.Context(), kit.CalculatorURL+"/broken", nil, nil)
				got := kit.ExecutedOf(t, err)
				assert.NotEqual(t, bus.ExecutedNo, got)
				assert.Equal(t, http.StatusServiceUnavailable, bus.StatusOf(err))
			})
		})
	}
}

// TestInterceptor_Copies hands on a copy of the exchange, from which nothing comes back: what has run is not called not
// executed all the same.
func TestInterceptor_Copies(t *testing.T) {
	t.Parallel()
	copying := func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			another := *call
			return next(ctx, &another)
		}
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, copies := w.Connect(kit.CalculatorHost), w.Connect("copies.example", bus.WithInterceptors(copying))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		kit.Serve(t, copies, kit.Calculator{ID: copies.ID()})
		for caller, host := range map[*bus.Conn]string{w.Connect("caller.example"): "copies.example",
			copies: kit.CalculatorHost} {
			for _, path := range []string{"/add", "/broken"} {
				err := caller.Call(t.Context(), "https://"+host+path, nil, nil)
				got := kit.ExecutedOf(t, err)
				assert.Equal(t, http.StatusInternalServerError, bus.StatusOf(err), "%s%s", host, path)
				assert.NotEqual(t, bus.ExecutedNo, got, "%s%s", host, path)
			}
		}
	})
}

// TestInterceptor_ClearsRequest holds that one which takes the request away, before the handler or after it, spoils
// neither the call nor its log lines, whether the handler answers, panics or exits.
func TestInterceptor_ClearsRequest(t *testing.T) {
	t.Parallel()
	clearRequest := func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			call.Request = nil
			defer func() { call.Request = nil }()
			return next(ctx, call)
		}
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		log := new(kit.Lines)
		options := []bus.ConnectOption{bus.WithInterceptors(clearRequest), bus.WithInterceptors(clearRequest),
			bus.WithLogger(zerolog.New(log).Level(zerolog.DebugLevel))}
		callee := w.Connect(kit.CalculatorHost, options...)
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Intercept(clearRequest))
		caller := w.Connect("caller.example", options...)
		for path, status := range map[string]int{"/add?x=1&y=2": 200, "/panic": 500, "/exit": 500} {
			if err := caller.Call(t.Context(), "GET "+kit.CalculatorURL+path, nil, nil); bus.StatusOf(err) != status {
				t.Errorf("%s: %v, want status %d", path, err, status)
			}
		}
		kit.CloseConn(t, caller)
		kit.CloseConn(t, callee)
		if got := log.Count(`"caller":"caller.example"`); got != 3 {
			t.Errorf("%d requests are logged, want 3:\n%s", got, log)
		}
	})
}
