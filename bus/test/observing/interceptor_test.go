// Package observing_test looks at what sees calls pass: interceptors, logs, metrics and traces.
package observing_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

func TestInterceptors_AreNested(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		seen := new(kit.Notes)
		callee := w.Connect(kit.CalculatorHost, bus.WithInterceptors(seen.Noting("connection"), seen.Noting("second")))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Intercept(seen.Noting("service")),
			bus.Method("Add", bus.Intercept(seen.Noting("method"))))
		caller := w.Connect("caller.example", bus.WithInterceptors(seen.Noting("caller")))
		kit.Add(t, caller, kit.CalculatorHost)
		want := []string{
			"caller client /add>", "connection server /add>", "second server /add>", "service server /add>",
			"method server /add>",
			"method server /add< 200", "service server /add< 200", "second server /add< 200", "connection server /add< 200",
			"caller client /add< 200",
		}
		if got := seen.All(); !slices.Equal(got, want) {
			t.Errorf("seen\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestInterceptor_Sees holds what an interceptor is told of a call, on both sides.
func TestInterceptor_Sees(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		var mu sync.Mutex
		seen := map[bus.Side]bus.Exchange{}
		look := func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				err := next(ctx, call)
				mu.Lock()
				defer mu.Unlock()
				seen[call.Side] = *call
				return err
			}
		}
		callee := w.Connect(kit.CalculatorHost, bus.WithInterceptors(look), bus.WithBodies())
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		caller := w.Connect("caller.example", bus.WithInterceptors(look), bus.WithBodies())
		require.NoError(t, caller.Call(t.Context(), "https://"+callee.ID()+"."+kit.CalculatorHost+"/add",
			bus.Args{"x": 1}, nil))
		mu.Lock()
		defer mu.Unlock()
		for side, call := range seen {
			assert.Equal(t, "POST", call.Method, side)
			assert.Equal(t, "/add", call.Path, side)
			assert.Equal(t, 443, call.Port, side)
			assert.Equal(t, callee.ID()+"."+kit.CalculatorHost, call.Host, side)
			assert.Equal(t, "caller.example", call.Request.FromHost, side)
			assert.NotEmpty(t, call.Request.MsgID, side)
			assert.NotEmpty(t, call.Request.Body, side)
			require.NotNil(t, call.Response, side)
			assert.Equal(t, 200, call.Response.Status, side)
			require.NotEmpty(t, call.Response.Body, side)
			assert.Positive(t, call.Elapsed(), side)
		}
		e := seen[bus.ServerSide].Endpoint
		require.NotNil(t, e)
		assert.Equal(t, bus.Endpoint{Name: "Calculator.Add", Path: "/add", Port: 443}, *e)
		require.Len(t, seen, 2)
		assert.Nil(t, seen[bus.ClientSide].Endpoint)
	})
}

// TestInterceptor_Refuses has a call end before its handler, on either side.
func TestInterceptor_Refuses(t *testing.T) {
	t.Parallel()
	refuse := func(side bus.Side) bus.Interceptor {
		return func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				if call.Side == side && call.Path == "/add" {
					return bus.Errorf(http.StatusTooManyRequests, "not so fast")
				}
				return next(ctx, call)
			}
		}
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for _, side := range []bus.Side{bus.ServerSide, bus.ClientSide} {
			host := side.String() + ".example"
			callee := w.Connect(host, bus.WithInterceptors(refuse(bus.ServerSide), refuse(0)))
			if side == bus.ClientSide {
				callee = w.Connect(host)
			}
			kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
			caller := w.Connect("caller.example", bus.WithInterceptors(refuse(bus.ClientSide)))
			if side == bus.ServerSide {
				caller = w.Connect("caller.example")
			}
			err := caller.Call(t.Context(), "https://"+host+"/add", bus.Args{"x": 1}, nil)
			assert.Equal(t, 429, bus.StatusOf(err), side)
			assert.ErrorContains(t, err, "not so fast", side)
		}
	})
}

// TestObserver_RejectedCall holds that observers of both sides see a call that is rejected before any other
// interceptor, with both ends of it and the trace that they have set.
func TestObserver_RejectedCall(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		seen := make(chan string, 2)
		observe := bus.WithObservers(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				call.SetTraceID("4bf92f3577b34da6a3ce929d0e0e4736")
				err := next(ctx, call)
				host, id := call.Local()
				callee, served := call.Callee(err)
				seen <- fmt.Sprint(call.Side, " ", call.Status(err), " ", host, " ", id != "", " ", callee, " ", served)
				return err
			}
		})
		unseen := bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				t.Errorf("an interceptor inside sees %s", call.Path)
				return next(ctx, call)
			}
		})
		callee := w.Connect(kit.CalculatorHost, observe, unseen)
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.RequireClaims("level > 3"))
		err := w.Connect("caller.example", observe).Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil)
		failed := kit.AsBusError(t, err)
		assert.Equal(t, http.StatusUnauthorized, failed.Status)
		assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", failed.TraceID)
		for _, want := range []string{"server 401 calculator.example true calculator.example false",
			"client 401 caller.example true calculator.example true"} {
			if got := <-seen; got != want {
				t.Errorf("an observer sees %q, want %q", got, want)
			}
		}
	})
}

// TestInterceptor_Answers has it answer in place of the endpoint, and change what the endpoint has answered.
func TestInterceptor_Answers(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.CalculatorHost, bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				switch call.Path {
				case "/add":
					call.Response = &wire.Response{Status: 200, Header: wire.Header{{Name: "Content-Type", Value: "application/json"}},
						Body: []byte(`{"sum":42}`)}
					return nil
				case "/nothing":
					return nil
				}
				err := next(ctx, call)
				if err == nil {
					call.Response.Header.Add("X-Seen", "yes")
				}
				return err
			}
		}))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.NoQueue()))
		require.NoError(t, callee.Handle("GET", "/nothing", http.NotFoundHandler()))
		caller := w.Connect("caller.example")
		var out struct{ Sum int }
		if err := caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1, "y": 2}, &out); err != nil ||
			out.Sum != 42 {
			t.Error(out, err)
		}
		if response, _ := kit.Do(t, caller, "GET", kit.CalculatorURL+"/who", "", ""); response.Header.Get("X-Seen") != "yes" {
			t.Errorf("header %v", response.Header)
		}
		if response, body := kit.Do(t, caller, "GET", kit.CalculatorURL+"/nothing", "", ""); response.StatusCode != 500 {
			t.Errorf("an answer of nothing: %d %s", response.StatusCode, body)
		}
	})
}

// TestMulticast_AnsweredByInterceptor has it answer in place of all instances, and in place of those who would get an
// event.
func TestMulticast_AnsweredByInterceptor(t *testing.T) {
	t.Parallel()
	closed := func(bus.CallFunc) bus.CallFunc {
		return func(_ context.Context, call *bus.Exchange) error {
			call.Response = &wire.Response{Status: http.StatusServiceUnavailable,
				Header: wire.Header{{Name: "Retry-After", Value: "7"}}}
			return nil
		}
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.CalculatorHost)
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.NoQueue()))
		caller := w.Connect("caller.example", bus.WithInterceptors(closed))
		var answers []int
		for response, err := range caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) {
			require.NoError(t, err)
			_ = response.Body.Close()
			answers = append(answers, response.StatusCode)
		}
		if !slices.Equal(answers, []int{503}) {
			t.Errorf("a multicast is answered %v", answers)
		}
		err := events.Publish(t.Context(), caller, "https://orders.example:417/on-ordered", nil)
		kit.CheckError(t, err, 503, bus.ExecutedNo)
		if failed := kit.AsBusError(t, err); failed.RetryAfter != 7*time.Second {
			t.Errorf("an event is fired: %v", err)
		}
	})
}

// TestInterceptor_CallsAgain sends a call twice, each time under an id of its own.
func TestInterceptor_CallsAgain(t *testing.T) {
	t.Parallel()
	twice := func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			if err := next(ctx, call); err != nil {
				return err
			}
			return next(ctx, call)
		}
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		seen := new(kit.Notes)
		callee := w.Connect(kit.CalculatorHost, bus.WithInterceptors(seen.Noting("callee")))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		kit.Add(t, w.Connect("caller.example", bus.WithInterceptors(twice)), kit.CalculatorHost)
		if got := seen.All(); len(got) != 4 {
			t.Errorf("seen %q", got)
		}
	})
}

// TestMulticast_Interceptors sees one call for all answers.
func TestMulticast_Interceptors(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for range 3 {
			callee := w.Connect(kit.CalculatorHost)
			kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.NoQueue()))
		}
		answers := make(chan int, 1)
		refusal := errors.New("no")
		caller := w.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				if call.Method == "PUT" {
					return refusal
				}
				err := next(ctx, call)
				assert.True(t, call.Multicast)
				assert.Nil(t, call.Response)
				assert.Equal(t, 200, call.Status(err))
				if call.Request.MsgID == "" {
					t.Error("the interceptor is not told the id of the message")
				}
				answers <- call.Answers
				return err
			}
		}))
		if ids := kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"); len(ids) != 3 {
			t.Errorf("%d answers", len(ids))
		}
		if seen := <-answers; seen != 3 {
			t.Errorf("the interceptor has seen %d answers", seen)
		}
		request := kit.MustRequest(t, kit.CalculatorURL+"/who")
		for _, err := range caller.Multicast(request) {
			assert.NoError(t, err)
			break
		}
		if seen := <-answers; seen != 1 {
			t.Errorf("the interceptor has seen %d answers of a call that was ended after one", seen)
		}
		request.Method = "PUT"
		var failures []error
		for _, err := range caller.Multicast(request) {
			failures = append(failures, err)
		}
		require.Len(t, failures, 1)
		assert.ErrorIs(t, failures[0], refusal)
	})
}

// TestInterceptor_Alone needs no bus.
func TestInterceptor_Alone(t *testing.T) {
	t.Parallel()
	seen := new(kit.Notes)
	handler := seen.Noting("alone")(func(_ context.Context, call *bus.Exchange) error {
		call.Response = &wire.Response{Status: 204}
		return nil
	})
	call := &bus.Exchange{Side: bus.ServerSide, Request: &wire.Request{Method: "GET", Target: "/x",
		FromHost: "caller.example"}}
	call.Path = "/x"
	if err := handler(t.Context(), call); err != nil || call.Elapsed() != 0 || call.TraceID() != "" {
		t.Error(err, call)
	}
	if got := seen.All(); !slices.Equal(got, []string{"alone server /x>", "alone server /x< 204"}) {
		t.Errorf("seen %q", got)
	}
}

// TestInterceptor_AddsHeader has it arrive, whether the arguments travel as values, or have to be written on the way.
func TestInterceptor_AddsHeader(t *testing.T) {
	t.Parallel()
	type values struct {
		X int `json:"x"`
		Y int `json:"y"`
	}
	type text struct {
		X    int   `json:"x"`
		List []int `json:"list"`
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		w.AllowUnknownFields()
		seen := new(kit.Notes)
		callee := w.Connect(kit.CalculatorHost, bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				seen.Addf("%s %s", call.Path, call.Request.Header.Get("X-Note"))
				return next(ctx, call)
			}
		}))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		caller := w.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				call.Request.Header.Add("X-Note", "it is here")
				return next(ctx, call)
			}
		}))
		_, err := bus.NewOperation[values, any](caller, kit.CalculatorURL+"/add").Call(t.Context(), values{1, 2})
		_, other := bus.NewOperation[text, any](caller, kit.CalculatorURL+"/add").Call(t.Context(), text{1, []int{2}})
		if err != nil || other != nil {
			t.Error(err, other)
		}
		if got := seen.All(); !slices.Equal(got, []string{"/add it is here", "/add it is here"}) {
			t.Errorf("seen %q", got)
		}
	})
}

// TestInterceptor_RetriedCall_MsgID holds that an interceptor of the caller sees the message id of the attempt that
// counted.
func TestInterceptor_RetriedCall_MsgID(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		var seen string
		caller := w.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				err := next(ctx, call)
				seen = call.Request.MsgID
				return err
			}
		}))
		err := caller.Call(t.Context(), "https://absent.example/add", nil, nil) // which is tried twice
		failed, ok := errors.AsType[*bus.Error](err)
		require.True(t, ok)
		assert.NotEmpty(t, seen)
		assert.Equal(t, failed.MsgID, seen)
	})
}

// TestMulticast_RepeatedByInterceptor calls again after the caller has ended the loop over the answers; and
// ranges over one multicast several times at once, whose header each call may add to.
func TestMulticast_RepeatedByInterceptor(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for range 2 {
			callee := w.Connect(kit.CalculatorHost)
			kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.NoQueue()))
		}
		caller := w.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				call.Request.Header.Add("X-Note", "one more")
				if err := next(ctx, call); err != nil {
					return err
				}
				return next(ctx, call)
			}
		}))
		request := kit.MustRequest(t, kit.CalculatorURL+"/who")
		request.Header = http.Header{"X-A": {"1"}, "Connection": {"close"}, "Te": {"x"}, "Upgrade": {"y"}}
		answers := caller.Multicast(request)
		var ranges sync.WaitGroup
		for range 4 {
			ranges.Go(func() { first(t, answers) })
		}
		ranges.Wait()
	})
}

// first takes one answer and leaves.
func first(t *testing.T, answers iter.Seq2[*http.Response, error]) {
	t.Helper()
	for _, err := range answers {
		assert.NoError(t, err)
		return
	}
}

// TestInterceptors_ShareNoRequest has one on the side of the server add a field, which the caller does not see: not in
// its request, and not when it calls again.
func TestInterceptors_ShareNoRequest(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		seen := new(kit.Notes)
		callee := w.Connect(kit.CalculatorHost, bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				seen.Addf("%s", call.Request.Header.Get("X-Secret"))
				call.Request.Header.Add("X-Secret", "of the server")
				return next(ctx, call)
			}
		}))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		caller := w.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				_ = next(ctx, call)
				if got := call.Request.Header.Get("X-Secret"); got != "" {
					t.Errorf("the caller sees %q", got)
				}
				return next(ctx, call)
			}
		}))
		kit.Add(t, caller, kit.CalculatorHost)
		for _, got := range seen.All() {
			if got != "" {
				t.Errorf("the callee has sent itself %q", got)
			}
		}
	})
}

// TestInterceptors_OutliveTheirCaller has the caller leave, and look at its request, while one on the side of the
// server adds fields. It is for the race detector.
func TestInterceptors_OutliveTheirCaller(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		var ended sync.WaitGroup
		ended.Add(1)
		callee := b.Connect(kit.CalculatorHost, bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				if call.Side == bus.ServerSide {
					defer ended.Done()
					<-ctx.Done()
					call.Request.Header.Add("X-Late", "yes")
				}
				return next(ctx, call)
			}
		}))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		caller := b.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				err := next(ctx, call)
				_ = call.TraceID()
				return err
			}
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_ = caller.Call(ctx, kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil)
		ended.Wait()
	})
}

// TestInterceptor_ReplacesResponse has one on either side put a copy with one more field in the place of a response.
// The results arrive all the same, whether or not they are in its body.
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
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		replacing, plain := w.Connect("replacing.example", bus.WithInterceptors(replace)), w.Connect(kit.CalculatorHost)
		kit.Serve(t, replacing, kit.Calculator{ID: replacing.ID()})
		kit.Serve(t, plain, kit.Calculator{ID: plain.ID()})
		for caller, url := range map[*bus.Conn]string{w.Connect("caller.example"): "https://replacing.example",
			replacing: kit.CalculatorURL} {
			got, err := bus.NewOperation[arguments, results](caller, "POST "+url+"/add").Call(t.Context(), arguments{1, 2})
			require.NoError(t, err, url)
			assert.Equal(t, 3, got.Results.Sum, url)
			var out results
			err = caller.Call(t.Context(), url+"/add", arguments{1, 2}, &out)
			require.NoError(t, err, url)
			assert.Equal(t, 3, out.Sum, url)
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

// TestInterceptor_CallsAgainBesideTheFirst has a handler end whose caller has called again, while that is answered. It
// is for the race detector.
func TestInterceptor_CallsAgainBesideTheFirst(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		impl := &stuckOnce{let: make(chan struct{})}
		callee := b.Connect(kit.CalculatorHost)
		kit.Serve(t, callee, impl)
		caller := b.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
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
		if err := caller.Call(t.Context(), kit.CalculatorURL+"/take", bus.Args{"x": 1}, &out); err != nil || out.Number != 2 {
			t.Error(out, err)
		}
	})
}
