package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/interceptors"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/trace"
)

// failsOnce is a calculator that is too busy for the first call.
type failsOnce struct{ calls chan int }

// Add fails once.
func (f failsOnce) Add(x, y int) (sum int, err error) {
	if <-f.calls == 0 {
		return 0, bus.Errorf(http.StatusServiceUnavailable, "try again")
	}
	return x + y, nil
}

func TestGather_Attempts(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		service := failsOnce{make(chan int, 2)}
		service.calls <- 0
		service.calls <- 1
		kit.Serve(t, w.Connect(kit.CalculatorHost, trace.Record(), kit.Quiet()), service)
		caller := w.Connect("caller.example", trace.Record(), bus.WithInterceptors(interceptors.Retry()))
		ctx, id := begin(t)
		require.NoError(t, caller.Call(interceptors.WithIdempotent(ctx), kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil))
		got := gather(t, caller, id)
		assert.Equal(t, `client caller.example → calculator.example POST /add 200
  server caller.example → calculator.example POST /add 503
  server caller.example → calculator.example POST /add 200
`, outline(got.Roots, ""))
		assert.Equal(t, 2, got.Roots[0].Attempts)
		assert.Equal(t, "503 Service Unavailable: try again", got.Roots[0].Children[0].Error)
	})
}

func TestGather_Multicast(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for range 3 {
			kit.Serve(t, w.Connect(kit.CalculatorHost, trace.Record()), kit.Calculator{}, bus.Method("Who", bus.NoQueue()),
				bus.Method("Who", bus.HTTPMethod(http.MethodGet)))
		}
		caller := w.Connect("caller.example", trace.Record())
		ctx, id := begin(t)
		require.Len(t, kit.Gather(ctx, t, caller, kit.Everything).IDs, 3)
		got := gather(t, caller, id)
		require.Len(t, got.Roots, 1)
		assert.True(t, got.Roots[0].Multicast)
		assert.Equal(t, 3, got.Roots[0].Answers)
		assert.Len(t, got.Roots[0].Children, 3)
	})
}

func TestGather_StoredEvent(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: bustest.New(t, broker.JetStream(t.TempDir())), Transport: bus.WithoutShortCircuit()}
	publisher := w.Connect(kit.OrdersHost, trace.Record())
	stored := kit.NewOrdered(t, publisher, events.Durable())
	handled := kit.Subscribe(t, w.Connect("stock.example", trace.Record()), kit.NewSink(), events.Durable())
	ctx, id := begin(t)
	require.NoError(t, stored.Publish(ctx, kit.Ordered{Number: 7}))
	kit.AwaitOrders(t, handled, 1)
	kit.Eventually(t, func() bool { // the handler has reported the order a moment before its call ends
		roots := gather(t, publisher, id).Roots
		return len(roots) == 1 && len(roots[0].Children) == 1 && roots[0].IsEvent() &&
			roots[0].Children[0].To == "stock.example"
	})
}

func TestGather_Stream(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.StreamHost, trace.Record())
		answer := func(w http.ResponseWriter, r *http.Request) {
			size, _ := io.Copy(io.Discard, r.Body)
			_, _ = io.CopyN(w, kit.NewNumbered(5<<20), size)
		}
		require.NoError(t, callee.Handle(http.MethodPost, "/answer", http.HandlerFunc(answer)))
		caller := w.Connect("caller.example", trace.Record())
		ctx, id := begin(t)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+kit.StreamHost+"/answer",
			io.MultiReader(strings.NewReader(strings.Repeat("x", 5<<20)))) // of unknown length
		require.NoError(t, err)
		response, err := caller.Do(request)
		require.NoError(t, err)
		size, err := io.Copy(io.Discard, response.Body)
		require.NoError(t, errors.Join(err, response.Body.Close()))
		assert.EqualValues(t, 5<<20, size)
		kit.Eventually(t, func() bool { // the handler may end after the last byte has come
			roots := gather(t, caller, id).Roots
			return len(roots) == 1 && len(roots[0].Children) == 1 && roots[0].Stream && roots[0].Children[0].Stream &&
				roots[0].ResponseBytes == size && roots[0].Children[0].ResponseBytes == size
		})
	})
}

// TestRecord_Overflow holds that calls which have failed stay longer.
func TestRecord_Overflow(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: bustest.New(t), Transport: kit.WithShortCircuit(true)}
	w.AllowUnknownFields()
	callee := w.Connect(kit.CalculatorHost, trace.Record(trace.Bytes(16<<10)), kit.Quiet())
	kit.Serve(t, callee, kit.Calculator{})
	caller := w.Connect("caller.example")
	ctx, id := begin(t)
	require.NoError(t, caller.Call(ctx, kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil))
	require.Error(t, caller.Call(ctx, kit.CalculatorURL+"/broken", nil, nil))
	assert.Len(t, gather(t, caller, id).Roots, 2)
	for range 200 {
		require.NoError(t, caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil))
	}
	got := gather(t, caller, id)
	require.Len(t, got.Roots, 1)
	assert.Equal(t, "/broken", got.Roots[0].Path)
	assert.True(t, got.Roots[0].HasFailed())
	assert.Contains(t, got.Roots[0].Error, "the disk is full")
	for range 200 {
		require.Error(t, caller.Call(t.Context(), kit.CalculatorURL+"/broken", nil, nil))
	}
	assert.Empty(t, gather(t, caller, id).Roots)
	assert.Empty(t, gather(t, caller, "4bf92f3577b34da6a3ce929d0e0e4736").Roots)
}

// TestGather_Planes holds that no plane sees the calls of another one.
func TestGather_Planes(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect(kit.CalculatorHost, trace.Record()), kit.Calculator{})
		caller := w.Connect("caller.example")
		ctx, id := begin(t)
		require.NoError(t, caller.Call(ctx, kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil))
		assert.Len(t, gather(t, caller, id).Roots, 1)
		other := gather(t, w.Connect("caller.example", bus.WithPlane("other")), id)
		assert.Empty(t, other.Roots)
		assert.Zero(t, other.Instances)
	})
}

// TestRecord_Operators holds who sees the calls of an instance.
func TestRecord_Operators(t *testing.T) {
	issuer := kit.NewIssuer(t)
	operator, other := issuer.Token(claims.Claims{"sub": "ada"}), issuer.Token(claims.Claims{"sub": "bob"})
	const rule = `sub == "ada"`
	for _, test := range []struct {
		name, environment string
		options           []trace.Option
		verifies          bool
		token, why        string
	}{
		{"neither keys nor a rule", "", nil, false, "", ""},
		{"keys and no rule", "", nil, true, operator, "the instance lets no caller see its calls: start it with " +
			"trace.Operators, or set BUS_OPERATORS"},
		{"everyone", "*", nil, true, "", ""},
		{"a rule, no token", "", []trace.Option{trace.Operators(rule)}, true, "", "it answers 401: only operators may see " +
			"its calls: send a token that satisfies trace.Operators"},
		{"a rule, another token", rule, nil, true, other, "it answers 403: the claims of the token do not satisfy " +
			"trace.Operators"},
		{"a rule, an operator", rule, nil, true, operator, ""},
		{"a rule and no keys", rule, nil, false, operator, "it answers 401"},
		{"the option wins", "*", []trace.Option{trace.Operators(rule)}, true, other, "it answers 403"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("BUS_OPERATORS", test.environment)
			b := bustest.New(t)
			options := []bus.ConnectOption{trace.Record(test.options...), kit.Quiet()}
			if test.verifies {
				options = append(options, issuer.Trust())
			}
			kit.Serve(t, b.Connect(kit.CalculatorHost, options...), kit.Calculator{})
			caller := b.Connect("caller.example")
			ctx, id := begin(t)
			require.NoError(t, caller.Call(ctx, kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil))
			got, err := trace.Gather(bus.WithActor(t.Context(), test.token), caller, id)
			require.NoError(t, err)
			if test.why == "" {
				assert.Len(t, got.Roots, 1)
				assert.Empty(t, got.Failed)
				return
			}
			assert.Empty(t, got.Roots)
			require.Len(t, got.Failed, 1)
			assert.Equal(t, kit.CalculatorHost, got.Failed[0].Host)
			assert.Contains(t, got.Failed[0].Why, test.why)
		})
	}
}

// answering serves GET :888/trace with a handler of the test.
func answering(t *testing.T, conn *bus.Conn, serve func(w http.ResponseWriter)) {
	t.Helper()
	extended := feature.Bus.Conn(conn)
	require.NoError(t, extended.Registering(func(ctx context.Context) error {
		answer := func(w http.ResponseWriter, _ *http.Request) error {
			serve(w)
			return nil
		}
		return extended.InstallControls(ctx, []feature.Control{
			{Method: http.MethodGet, Path: feature.TracePath, NoQueue: true, OnAll: true, Serve: answer},
		})
	}))
}

// TestGather_HostilePeers holds that instances which answer anything are named, and hide nothing of the others.
func TestGather_HostilePeers(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		ctx, id := begin(t)
		inJSON := func(body string) func(http.ResponseWriter) {
			return func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, body)
			}
		}
		circle, err := json.Marshal(map[string]any{"more": -5, "calls": []map[string]any{
			{"side": "client", "traceId": id, "spanId": "s", "msgId": "m1", "parentMsgId": "m2", "from": "calculator.example",
				"began": "0001-01-01T00:00:00Z", "took": -1},
			{"side": "server", "traceId": id, "spanId": "s", "msgId": "m1", "from": "circle.example", "took": int64(1) << 62},
			{"side": "server", "traceId": id, "spanId": "s", "msgId": "m2", "from": "circle.example"},
			{"traceId": "another"},
		}})
		require.NoError(t, err)
		for host, serve := range map[string]func(http.ResponseWriter){
			"html.example": func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<html>")
			},
			"large.example":   inJSON(`{"calls":[` + strings.Repeat(" ", 10<<20) + `]}`),
			"invalid.example": inJSON(`{"calls":7}`),
			"none.example":    inJSON(""),
			"failing.example": func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) },
			"circle.example":  inJSON(string(circle)),
		} {
			answering(t, w.Connect(host), serve)
		}
		kit.Serve(t, w.Connect(kit.CalculatorHost, trace.Record()), kit.Calculator{})
		caller := w.Connect("caller.example", trace.Record())
		require.NoError(t, caller.Call(ctx, kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil))
		got := gather(t, caller, id)
		reasons := map[string]string{}
		for _, each := range got.Failed {
			reasons[each.Host] = each.Why
		}
		assert.Contains(t, reasons["html.example"], `"text/html", and not JSON`)
		assert.Contains(t, reasons["large.example"], "exceeds the limit of 4194304 bytes")
		assert.Contains(t, reasons["invalid.example"], "no list of calls")
		assert.Contains(t, reasons["none.example"], "no list of calls")
		assert.Contains(t, reasons["failing.example"], "it answers 418")
		assert.Len(t, reasons, 5)
		text := outline(got.Roots, "")
		assert.Contains(t, text, "client caller.example → calculator.example POST /add 200\n"+
			"  server caller.example → calculator.example POST /add 200\n")
		assert.Contains(t, text, "client circle.example", "an instance answers only for itself")
		assert.Equal(t, 1, got.LeftOut, "that of another trace")
	})
}

func TestRecord_InvalidOptions(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for want, options := range map[string][]trace.Option{
		"trace.Bytes 5: choose 16384 to 1073741824, or leave it out for 262144": {trace.Bytes(5)},
		"trace.Operators or BUS_OPERATORS: ":                                    {trace.Operators("sub =")},
		"trace.Record: option 1 is nil: leave it out":                           {nil},
	} {
		_, err := bus.Connect(t.Context(), "caller.example", append(b.Options(), trace.Record(options...))...)
		assert.ErrorContains(t, err, want)
	}
}

func TestGather_InvalidID(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("caller.example", trace.Record())
	_, err := trace.Gather(t.Context(), conn, "7")
	require.ErrorContains(t, err, `"7" is not the id of a trace`)
	err = conn.Call(t.Context(), "GET https://"+conn.ID()+".caller.example:888/trace?id=7", nil, nil)
	require.ErrorContains(t, err, "send ?id= and 32 hexadecimal digits")
}
