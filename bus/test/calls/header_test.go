package calls_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	tracesdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/otelbus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
)

func overBothLingual(t *testing.T, test func(t *testing.T, w *kit.World, caller *bus.Conn)) {
	t.Helper()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.LingualHost)
		kit.Serve(t, callee, kit.Lingual{Conn: callee})
		test(t, w, w.Connect("caller.example"))
	})
}

// TestRequestHeader holds what a method learns of the header of its request: what the context of the call has, also
// through a service in between if it is a field that travels on.
func TestRequestHeader(t *testing.T) {
	t.Parallel()
	overBothLingual(t, func(t *testing.T, _ *kit.World, caller *bus.Conn) {
		both := bus.WithOutgoingHeader(bus.WithOutgoingHeader(t.Context(), "accept-language", "eo"), "X-Word", "a word")
		for _, test := range []struct {
			ctx        context.Context
			path, want string
			arguments  bus.Args
		}{
			{t.Context(), "hear", "", nil},
			{both, "hear", "Accept-Language=eo X-Word=a word", bus.Args{"x": 1}},
			{bus.WithOutgoingHeader(both, "x-word", "another"), "hear", "Accept-Language=eo X-Word=another", nil},
			{bus.WithOutgoingHeader(both, "X-WORD", ""), "hear", "Accept-Language=eo", nil},
			{bus.WithOutgoingHeader(both, "X-Word", " a\r\nBus-Actor: b "), "hear",
				"Accept-Language=eo X-Word=a  Bus-Actor: b", nil},
			{bus.WithOutgoingHeader(both, "X-Word", " "), "hear", "Accept-Language=eo", nil},
			{both, "ask", "Accept-Language=eo", nil},
			{both, "ask", "Accept-Language=eo X-Word=mine", bus.Args{"name": "X-Word", "value": "mine"}},
			{both, "ask", "Accept-Language=fr", bus.Args{"name": "Accept-Language", "value": "fr"}},
			{both, "ask", "", bus.Args{"name": "Accept-Language"}},
		} {
			var out struct{ Fields string }
			err := caller.Call(test.ctx, "https://lingual.example/"+test.path, test.arguments, &out)
			require.NoError(t, err, test.path)
			assert.Equal(t, test.want, out.Fields, test.path)
		}
		call := kit.MustRequest(t, "https://lingual.example/web").WithContext(both)
		call.Header = http.Header{"X-Word": {"", "its own"}, "Content-Type": {"text/plain"}}
		response, err := caller.Do(call)
		require.NoError(t, err)
		if got := kit.BodyOf(t, response); got != "Accept-Language=eo X-Word=,its own" {
			t.Errorf("a request with a header of its own: %q", got)
		}
	})
	for want, ctx := range map[string]context.Context{
		"": t.Context(), "Accept-Language=eo": bus.WithOutgoingHeader(t.Context(), "accept-language", "eo"),
	} {
		if got, _ := (kit.Lingual{}).Hear(ctx, 1); got != want {
			t.Errorf("outside of the bus a method heard %q, want %q", got, want)
		}
	}
}

// TestHeader_RefusesFieldsOfTheBus holds that a call which cannot carry what it was given is not made.
func TestHeader_RefusesFieldsOfTheBus(t *testing.T) {
	t.Parallel()
	overBothLingual(t, func(t *testing.T, _ *kit.World, caller *bus.Conn) {
		for _, name := range []string{"", "Host", "content-type", "Content-Encoding", "Content-Length", "Bus-Actor",
			"bus-else", "Connection", "No Token", "New\nLine"} {
			ctx := bus.WithOutgoingHeader(bus.WithOutgoingHeader(t.Context(), name, "x"), "X-Word", "y")
			err := caller.Call(ctx, "https://lingual.example/hear", nil, nil)
			kit.CheckError(t, err, http.StatusBadRequest, bus.ExecutedNo)
			failed := kit.AsBusError(t, err)
			if !strings.Contains(failed.Detail, fmt.Sprintf("the header field %q cannot be set", name)) {
				t.Errorf("%q: %v", name, err)
			}
			if err := caller.Call(bus.WithOutgoingHeader(ctx, name, ""), "https://lingual.example/hear", nil, nil); err != nil {
				t.Errorf("without %q: %v", name, err)
			}
		}
	})
}

// TestResponseHeader holds that a method can set fields of its response, but not those that the bus sets.
func TestResponseHeader(t *testing.T) {
	t.Parallel()
	overBothLingual(t, func(t *testing.T, w *kit.World, caller *bus.Conn) {
		for path, want := range map[string]string{
			"hear":       "Content-Language=eo Content-Type=application/json Link=</a>,</b> Location=/things/5",
			"fail":       "Content-Type=application/problem+json",
			"web":        "X-Two=2",
			"refusals/1": "Content-Type=application/json Location=/elsewhere",
		} {
			response, err := caller.Do(kit.MustRequest(t, "https://lingual.example/"+path))
			require.NoError(t, err)
			header := response.Header.Clone()
			for name := range header {
				if name == "Content-Length" || strings.HasPrefix(name, "Bus-") {
					header.Del(name)
				}
			}
			if got := kit.WordsIn(header); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
			if queue := response.Header.Get("Bus-Queue"); queue != kit.LingualHost {
				t.Errorf("%s: the queue is %s", path, queue)
			}
		}
		var out struct {
			Fields string
			Y      int
		}
		err := caller.Call(t.Context(), "https://lingual.example/hear", bus.Args{"x": 7}, &out)
		require.NoError(t, err, "with values")
		assert.Equal(t, 7, out.Y, "with values")
	})
	fields, y := (kit.Lingual{}).Hear(t.Context(), 5)
	assert.Empty(t, fields, "outside a handler")
	assert.Equal(t, 5, y, "outside a handler")
}

// TestHeader_OfAResponse has callers that get only results see the header of the response.
func TestHeader_OfAResponse(t *testing.T) {
	t.Parallel()
	overBothLingual(t, func(t *testing.T, w *kit.World, caller *bus.Conn) {
		var header http.Header
		ctx := bus.CaptureResponseHeader(bus.WithOutgoingHeader(t.Context(), "X-Asked", "1"), &header)
		ctx = bus.WithOutgoingHeader(ctx, "X-More", "2")
		var out struct{ Fields string }
		require.NoError(t, caller.Call(ctx, "https://lingual.example/hear", bus.Args{"x": 7}, &out))
		assert.Equal(t, "/things/5", header.Get("Location"))
		require.Len(t, header["Link"], 2)
		assert.Contains(t, out.Fields, "X-Asked=1")
		assert.Contains(t, out.Fields, "X-More=2")
		err := caller.Call(ctx, "GET https://lingual.example/refusals/1", nil, nil)
		assert.Equal(t, http.StatusConflict, bus.StatusOf(err))
		assert.Equal(t, "/elsewhere", header.Get("Location"))
		assert.Nil(t, header["Link"])
		err = caller.Call(ctx, "https://nobody.example/hear", nil, nil)
		require.Error(t, err)
		assert.Nil(t, header)
	})
	var header http.Header
	_, y := kit.Lingual{}.Hear(bus.CaptureResponseHeader(t.Context(), &header), 5)
	assert.Equal(t, 5, y, "outside a handler")
	assert.Equal(t, "/things/5", header.Get("Location"), "outside a handler")
	require.Len(t, header["Link"], 2, "outside a handler")
	assert.Nil(t, header["X-Gone"], "outside a handler")
	assert.Nil(t, header["Bus-Queue"], "outside a handler")
}

// TestResponseHeader_OfValues holds that interceptors on both sides see what a method has set when the results are
// passed as Go values, and that one call's fields are not another's.
func TestResponseHeader_OfValues(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		seen := make(chan string, 2)
		location := func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				err := next(ctx, call)
				if err == nil {
					seen <- fmt.Sprint(call.Side, call.Response.Header.Get("Location"))
				}
				return err
			}
		}
		callee := w.Connect(kit.LingualHost, bus.WithInterceptors(location))
		kit.Serve(t, callee, kit.Lingual{Conn: callee})
		caller := w.Connect("caller.example", bus.WithInterceptors(location))
		for range 3 {
			require.NoError(t, caller.Call(t.Context(), "https://lingual.example/hear", bus.Args{"x": 1}, new(struct{ Y int })))
			got := []string{kit.Await(t, "one side", seen), kit.Await(t, "the other", seen)}
			slices.Sort(got)
			if want := []string{"client/things/5", "server/things/5"}; !slices.Equal(got, want) {
				t.Errorf("interceptors saw %q, want %q", got, want)
			}
		}
	})
}

// TestInterceptor_GivesHeader holds that it makes no difference whether the caller or an interceptor sets a field in
// the context, which may be one that has others, or none.
func TestInterceptor_GivesHeader(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.LingualHost)
		kit.Serve(t, callee, kit.Lingual{Conn: callee})
		for want, change := range map[string]func(context.Context) context.Context{
			"X-One=1 X-Two=2": func(ctx context.Context) context.Context { return ctx },
			"X-One=1 X-Three=3 X-Two=2": func(ctx context.Context) context.Context {
				return bus.WithOutgoingHeader(ctx, "X-Three", "3")
			},
			"X-One=one X-Two=2": func(ctx context.Context) context.Context {
				return bus.WithOutgoingHeader(ctx, "X-One", "one")
			},
			"X-Two=2": func(ctx context.Context) context.Context { return bus.WithOutgoingHeader(ctx, "x-one", "") },
			"":        func(context.Context) context.Context { return t.Context() },
		} {
			caller := w.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
				return func(ctx context.Context, call *bus.Exchange) error { return next(change(ctx), call) }
			}))
			ctx := bus.WithOutgoingHeader(bus.WithOutgoingHeader(t.Context(), "X-One", "1"), "X-Two", "2")
			var out struct{ Fields string }
			err := caller.Call(ctx, "https://lingual.example/hear", nil, &out)
			require.NoError(t, err)
			assert.Equal(t, want, out.Fields)
		}
	})
}

// TestTrace_OfTheHeader holds that a trace given as header fields is continued, with its state.
func TestTrace_OfTheHeader(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.LingualHost)
		kit.Serve(t, callee, kit.Lingual{Conn: callee})
		const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
		ctx := bus.WithOutgoingHeader(t.Context(), "Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		ctx = bus.WithOutgoingHeader(ctx, "Tracestate", "vendor=1")
		for name, options := range map[string][]bus.ConnectOption{
			"untraced": nil,
			"traced":   {otelbus.Observe(otelbus.WithTracerProvider(tracesdk.NewTracerProvider()))},
		} {
			t.Run(name, func(t *testing.T) {
				var out struct{ Fields string }
				require.NoError(t, w.Connect("caller.example", options...).Call(ctx, "https://lingual.example/hear", nil, &out))
				assert.Regexp(t, "^Traceparent=00-"+trace+"-.*-01 Tracestate=vendor=1$", out.Fields)
			})
		}
	})
}

// TestHeader_OfAResponseThatIsLate has a method go on setting fields after it has returned, while its response is sent.
func TestHeader_OfAResponseThatIsLate(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		late := &late{make(chan struct{})}
		kit.Serve(t, w.Connect(kit.LingualHost), late)
		caller := w.Connect("caller.example")
		for range 20 {
			response, err := caller.Do(kit.MustRequest(t, "https://lingual.example/go"))
			require.NoError(t, err)
			if got := response.Header.Get("X-Early"); got != "here" {
				t.Errorf("X-Early is %q", got)
			}
		}
		for range 20 {
			kit.Await(t, "who goes on", late.done)
		}
	})
}

type late struct{ done chan struct{} }

// Go sets one field, and others later.
func (l *late) Go(ctx context.Context) {
	bus.SetResponseHeader(ctx, "X-Early", "here")
	go func() {
		for i := range 100 {
			bus.SetResponseHeader(ctx, fmt.Sprint("X-", i), "late")
		}
		l.done <- struct{}{}
	}()
}

// TestHeaders_AreNotLogged has calls fail that have secrets in their headers and bodies, in both directions, and broken
// messages that have them too: what is logged has none of them, nor has an error.
func TestHeaders_AreNotLogged(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		written := new(kit.Lines)
		loud := bus.WithLogger(zerolog.New(written).Level(zerolog.TraceLevel))
		callee, caller := w.Connect("careless.example", loud,
			bus.WithMaxMessageBytes(64<<10)), w.Connect("caller.example", loud)
		handlers := map[string]http.HandlerFunc{
			"/panic": func(http.ResponseWriter, *http.Request) { panic("boom") },
			"/fail":  func(w http.ResponseWriter, r *http.Request) { bus.WriteError(w, r, errors.New("failed")) },
			"/large": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("canary", 20_000))) },
			"/heads": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", strings.Repeat("canary", 20_000)) },
			"/odd":   func(w http.ResponseWriter, _ *http.Request) { w.Header()["Canary\r\n"] = []string{"canary\x00"} },
		}
		for path, handler := range handlers {
			err := callee.Handle(http.MethodGet, path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Set-Cookie", "session=canary")
				handler(w, r)
			}))
			require.NoError(t, err)
		}
		kit.Serve(t, callee, kit.Calculator{}, bus.ExcludeMethods("Panic"))
		for _, path := range []string{"/panic", "/fail", "/large", "/heads", "/odd", "/add?x=canary", "/add?y=%zz",
			"/nothing"} {
			call := kit.MustRequest(t, "https://careless.example"+path)
			call.Header.Set("Cookie", "session=canary")
			call.Header.Set("Authorization", "Basic canary")
			call.Header["X-Odd\n"] = []string{"canary\r\n"}
			response, err := caller.Do(call)
			if err == nil {
				_ = response.Body.Close()
			}
			_, _ = fmt.Fprintf(written, "%v %+v\n", err, err)
		}
		raw := kit.RawClient(t, w)
		for _, line := range []string{"Cookie : canary", " canary", "canary", "Cookie: canary\x00",
			"Content-Length: 1\r\nCookie: canary", "Transfer-Encoding: canary"} {
			message := strings.ReplaceAll(kit.RawRequest("GET /add HTTP/1.1", "careless.example", "Cookie: canary"),
				"\n", "\r\n")
			message = strings.TrimSuffix(message, "\r\n") + line + "\r\n\r\n"
			require.NoError(t, raw.Publish(subject.Subscription(w.Plane(), "443", "careless.example", "GET", "add"),
				[]byte(message)))
		}
		kit.Flush(t, raw)
		kit.CloseConn(t, callee)
		text := written.String()
		assert.Contains(t, text, "handler panicked")
		assert.Contains(t, text, "boom")
		if at := strings.Index(text, "canary"); at >= 0 {
			t.Errorf("a secret is written: …%.400s", text[max(0, at-200):])
		}
	})
}
