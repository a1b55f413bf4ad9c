package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

const lingualHost = "lingual.example"

// lingual is a service whose methods read and set header fields.
type lingual struct{ conn *bus.Conn }

// Hear returns the fields that have come, and sets some.
func (lingual) Hear(ctx context.Context, x int) (fields string, y int) {
	answer := bus.ResponseHeader(ctx)
	answer.Set("location", "/things/5")
	answer.Add("Link", "</a>")
	answer.Add("Link", "</b>")
	answer.Set("Content-Language", "eo")
	for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Length", "Bus-Queue", "Connection", "No Token"} {
		answer.Set(name, "forged")
	}
	return told(bus.RequestHeader(ctx)), x
}

// Ask has the same service hear what its own request carries, and what is added.
func (l lingual) Ask(ctx context.Context, more bool) (fields string, err error) {
	if more {
		ctx = bus.WithRequestHeader(ctx, "X-Word", "mine")
	}
	var out struct{ Fields string }
	err = bus.Call(ctx, l.conn, "https://lingual.example/hear", bus.Args{"x": 1}, &out)
	return out.Fields, err
}

// Fail sets a field, and fails.
func (lingual) Fail(ctx context.Context) error {
	bus.ResponseHeader(ctx).Set("Location", "/nowhere")
	return bus.Errorf(http.StatusConflict, "no")
}

// Web sets a field in both ways that it has.
func (lingual) Web(w http.ResponseWriter, r *http.Request) {
	bus.ResponseHeader(r.Context()).Set("X-One", "1")
	w.Header().Set("X-Two", bus.ResponseHeader(r.Context()).Get("X-One")+"2")
	_, _ = fmt.Fprint(w, told(bus.RequestHeader(r.Context())))
}

// told writes a header on one line.
func told(header http.Header) string {
	var fields []string
	for name, values := range header {
		fields = append(fields, name+"="+strings.Join(values, ","))
	}
	slices.Sort(fields)
	return strings.Join(fields, " ")
}

func overBothLingual(t *testing.T, test func(t *testing.T, w *world, caller *bus.Conn)) {
	t.Helper()
	overBoth(t, func(t *testing.T, w *world) {
		callee := w.connect(lingualHost)
		serve(t, callee, lingual{callee})
		test(t, w, w.connect("caller.example"))
	})
}

// TestRequestHeader holds what a method learns of the header of its request: what the context of the call has, also through
// a service in between if it is a field that travels on.
func TestRequestHeader(t *testing.T) {
	t.Parallel()
	overBothLingual(t, func(t *testing.T, _ *world, caller *bus.Conn) {
		both := bus.WithRequestHeader(bus.WithRequestHeader(t.Context(), "accept-language", "eo"), "X-Word", "a word")
		for _, test := range []struct {
			ctx        context.Context
			path, want string
			arguments  bus.Args
		}{
			{t.Context(), "hear", "", nil},
			{both, "hear", "Accept-Language=eo X-Word=a word", bus.Args{"x": 1}},
			{bus.WithRequestHeader(both, "x-word", "another"), "hear", "Accept-Language=eo X-Word=another", nil},
			{bus.WithRequestHeader(both, "X-WORD", ""), "hear", "Accept-Language=eo", nil},
			{bus.WithRequestHeader(both, "X-Word", " a\r\nBus-Actor: b "), "hear", "Accept-Language=eo X-Word=a  Bus-Actor: b", nil},
			{both, "ask", "Accept-Language=eo", nil},
			{both, "ask", "Accept-Language=eo X-Word=mine", bus.Args{"more": true}},
		} {
			var out struct{ Fields string }
			if err := bus.Call(test.ctx, caller, "https://lingual.example/"+test.path, test.arguments, &out); err != nil || out.Fields != test.want {
				t.Errorf("%s heard %q, %v; want %q", test.path, out.Fields, err, test.want)
			}
		}
		call := mustRequest(t, "https://lingual.example/web").WithContext(both)
		call.Header = http.Header{"X-Word": {"its own", "and more"}, "Content-Type": {"text/plain"}}
		response, err := caller.Do(call)
		if err != nil {
			t.Fatal(err)
		}
		if got := bodyOf(t, response); got != "Accept-Language=eo X-Word=its own,and more" {
			t.Errorf("a request with a header of its own: %q", got)
		}
	})
	if header := bus.RequestHeader(t.Context()); header != nil {
		t.Errorf("outside a handler there is %v", header)
	}
}

// TestRequestHeaderOfEach holds that multicasts and events carry the fields, too, and that interceptors see them.
func TestRequestHeaderOfEach(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		ctx := bus.WithRequestHeader(t.Context(), "X-Word", "hello")
		seen := make(chan string, 3)
		caller := w.connect(ordersHost, bus.WithInterceptors(func(next bus.Handler) bus.Handler {
			return func(ctx context.Context, call *bus.Exchange) error {
				seen <- call.Request.Header.Get("X-Word")
				return next(ctx, call)
			}
		}))
		first, second := w.connect(lingualHost), w.connect(lingualHost)
		for _, each := range []*bus.Conn{first, second} {
			serve(t, each, lingual{each}, bus.NoQueue())
		}
		answers := 0
		for response, err := range caller.Publish(mustRequest(t, "https://lingual.example/web").WithContext(ctx)) {
			if err != nil {
				t.Fatal(err)
			}
			if got := bodyOf(t, response); got != "X-Word=hello" {
				t.Errorf("an instance heard %q", got)
			}
			answers++
		}
		if answers != 2 {
			t.Errorf("%d answers of 2", answers)
		}
		heard := make(chan string, 1)
		orders := newSink()
		orders.handle = func(ctx context.Context, _ int) error {
			heard <- told(bus.RequestHeader(ctx))
			bus.ResponseHeader(ctx).Set("X-Nobody", "sees this")
			return nil
		}
		if err := bus.Subscribe[orderEvents](first, ordersHost, orders); err != nil {
			t.Fatal(err)
		}
		if err := bus.Fire(ctx, caller, "https://orders.example:417/on-ordered", bus.Args{"number": 1}); err != nil {
			t.Fatal(err)
		}
		if got := await(t, "the event", heard); got != "X-Word=hello" {
			t.Errorf("with the event came %q", got)
		}
		for range 2 {
			if got := await(t, "the interceptor", seen); got != "hello" {
				t.Errorf("an interceptor sees %q", got)
			}
		}
	})
}

// TestFieldsOfTheBusAreNotForCallers holds that a call which cannot carry what it was given is not made.
func TestFieldsOfTheBusAreNotForCallers(t *testing.T) {
	t.Parallel()
	overBothLingual(t, func(t *testing.T, _ *world, caller *bus.Conn) {
		for _, name := range []string{"", "Host", "content-type", "Content-Encoding", "Content-Length", "Bus-Actor", "bus-else", "Connection", "No Token", "New\nLine"} {
			ctx := bus.WithRequestHeader(bus.WithRequestHeader(t.Context(), name, "x"), "X-Word", "y")
			err := bus.Call(ctx, caller, "https://lingual.example/hear", nil, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			if failed == nil || failed.Status != http.StatusBadRequest || failed.Executed != bus.NotExecuted || !strings.Contains(failed.Detail, fmt.Sprintf("the header field %q is not", name)) {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}

// TestResponseHeader holds that a method can set fields of its response, but not those that the bus sets.
func TestResponseHeader(t *testing.T) {
	t.Parallel()
	overBothLingual(t, func(t *testing.T, w *world, caller *bus.Conn) {
		for path, want := range map[string]string{
			"hear": "Content-Language=eo Content-Type=application/json Link=</a>,</b> Location=/things/5",
			"fail": "Content-Type=application/problem+json",
			"web":  "X-One=1 X-Two=12",
		} {
			response, err := caller.Do(mustRequest(t, "https://lingual.example/"+path))
			if err != nil {
				t.Fatal(err)
			}
			header := response.Header.Clone()
			for name := range header {
				if name == "Content-Length" || strings.HasPrefix(name, "Bus-") {
					header.Del(name)
				}
			}
			if got := told(header); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
			if queue := response.Header.Get("Bus-Queue"); queue != lingualHost {
				t.Errorf("%s: the queue is %s", path, queue)
			}
		}
		var out struct {
			Fields string
			Y      int
		}
		if err := bus.Call(t.Context(), caller, "https://lingual.example/hear", bus.Args{"x": 7}, &out); err != nil || out.Y != 7 {
			t.Errorf("with values: %+v, %v", out, err)
		}
	})
	if fields, y := (lingual{}).Hear(t.Context(), 5); fields != "" || y != 5 {
		t.Errorf("outside a handler: %q, %d", fields, y)
	}
}

// TestResponseHeaderOfValues holds that interceptors on both sides see what a method has set when the results are passed as
// Go values, and that one call's fields are not another's.
func TestResponseHeaderOfValues(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		seen := make(chan string, 2)
		location := func(next bus.Handler) bus.Handler {
			return func(ctx context.Context, call *bus.Exchange) error {
				err := next(ctx, call)
				if err == nil {
					seen <- fmt.Sprint(call.Side, call.Response.Header.Get("Location"))
				}
				return err
			}
		}
		callee := w.connect(lingualHost, bus.WithInterceptors(location))
		serve(t, callee, lingual{callee})
		caller := w.connect("caller.example", bus.WithInterceptors(location))
		for range 3 {
			if err := bus.Call(t.Context(), caller, "https://lingual.example/hear", bus.Args{"x": 1}, new(struct{ Y int })); err != nil {
				t.Fatal(err)
			}
			got := []string{await(t, "one side", seen), await(t, "the other", seen)}
			slices.Sort(got)
			if want := []string{"client/things/5", "server/things/5"}; !slices.Equal(got, want) {
				t.Errorf("interceptors saw %q, want %q", got, want)
			}
		}
	})
}
