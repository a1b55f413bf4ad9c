package bus_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// TestInterceptors_ShareNoRequest has one on the side of the server add a field, which the caller does not see: not in its
// request, and not when it calls again.
func TestInterceptors_ShareNoRequest(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		seen := new(notes)
		callee := w.connect(calculatorHost, bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				seen.addf("%s", call.Request.Header.Get("X-Secret"))
				call.Request.Header.Add("X-Secret", "of the server")
				return next(ctx, call)
			}
		}))
		serve(t, callee, calculator{callee.ID()})
		caller := w.connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				_ = next(ctx, call)
				if got := call.Request.Header.Get("X-Secret"); got != "" {
					t.Errorf("the caller sees %q", got)
				}
				return next(ctx, call)
			}
		}))
		add(t, caller, calculatorHost)
		for _, got := range seen.all() {
			if got != "" {
				t.Errorf("the callee has sent itself %q", got)
			}
		}
	})
}

// TestInterceptors_OutliveTheirCaller has the caller leave, and look at its request, while one on the side of the server
// adds fields. It is for the race detector.
func TestInterceptors_OutliveTheirCaller(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		var ended sync.WaitGroup
		ended.Add(1)
		callee := b.connect(calculatorHost, bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				if call.Side == bus.ServerSide {
					defer ended.Done()
					<-ctx.Done()
					call.Request.Header.Add("X-Late", "yes")
				}
				return next(ctx, call)
			}
		}))
		serve(t, callee, calculator{callee.ID()})
		caller := b.connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				err := next(ctx, call)
				_ = call.TraceID()
				return err
			}
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_ = caller.Call(ctx, calculatorURL+"/add", bus.Args{"x": 1}, nil)
		ended.Wait()
	})
}

// TestInterceptor_ReplacesResponse has one on either side put a copy with one more field in the place of a response. The
// results arrive all the same, whether or not they are in its body.
func TestInterceptor_ReplacesResponse(t *testing.T) {
	t.Parallel()
	replace := func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			err := next(ctx, call)
			if err == nil {
				replaced := *call.Response
				replaced.Header = append(slices.Clip(replaced.Header), replaced.Header...)
				call.Response = &replaced
			}
			return err
		}
	}
	type arguments struct {
		X int `json:"x"`
		Y int `json:"y"`
	}
	type results struct {
		Sum int `json:"sum"`
	}
	overBoth(t, func(t *testing.T, w *world) {
		replacing, plain := w.connect("replacing.example", bus.WithInterceptors(replace)), w.connect(calculatorHost)
		serve(t, replacing, calculator{replacing.ID()})
		serve(t, plain, calculator{plain.ID()})
		for caller, url := range map[*bus.Conn]string{w.connect("caller.example"): "https://replacing.example", replacing: calculatorURL} {
			got, err := bus.NewOperation[arguments, results](caller, "POST "+url+"/add").Call(t.Context(), arguments{1, 2})
			if err != nil || got.Results.Sum != 3 {
				t.Errorf("%s: %+v %v", url, got, err)
			}
			var out results
			if err := caller.Call(t.Context(), url+"/add", arguments{1, 2}, &out); err != nil || out.Sum != 3 {
				t.Errorf("%s: %+v %v", url, out, err)
			}
		}
	})
}

// stuckOnce lets go of its first call only when it is told to.
type stuckOnce struct {
	mu    sync.Mutex // protects calls
	calls int
	let   chan struct{}
}

// Take says which call it is.
func (s *stuckOnce) Take(x int) (number int) {
	s.mu.Lock()
	s.calls++
	number = s.calls
	s.mu.Unlock()
	if number == 1 {
		<-s.let
	}
	return number
}

// TestInterceptor_CallsAgainBesideTheFirst has a handler end whose caller has called again, while that is answered. It is
// for the race detector.
func TestInterceptor_CallsAgainBesideTheFirst(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		impl := &stuckOnce{let: make(chan struct{})}
		callee := b.connect(calculatorHost)
		serve(t, callee, impl)
		caller := b.connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
				_ = next(short, call)
				err := next(ctx, call)
				close(impl.let)
				return err
			}
		}))
		var out struct {
			Number int `json:"number"`
		}
		if err := caller.Call(t.Context(), calculatorURL+"/take", bus.Args{"x": 1}, &out); err != nil || out.Number != 2 {
			t.Error(out, err)
		}
	})
}
