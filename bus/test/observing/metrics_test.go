package observing_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/test/kit"
)

// TestMetricsHandler has one page tell of all connections of a process, each metric in one place.
func TestMetricsHandler(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	callee, caller := b.Connect("wrapper.example"), b.Connect("caller.example")
	kit.Serve(t, callee, kit.Wrapper{})
	_ = caller.Call(t.Context(), "https://wrapper.example/wrapped", nil, nil)
	page := func(conns ...*bus.Conn) string {
		w := httptest.NewRecorder()
		bus.MetricsHandler(conns...).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, metrics.ContentType, w.Header().Get("Content-Type"))
		return w.Body.String()
	}
	both := page(callee, caller, callee)
	for _, part := range []string{
		`busline_info{host="wrapper.example",id="` + callee.ID() + `"`,
		`busline_info{host="caller.example",id="` + caller.ID() + `"`,
		`busline_server_refused_total{host="wrapper.example"`, `busline_client_refused_total{host="caller.example"`,
		"# TYPE busline_info gauge\n",
	} {
		if strings.Count(both, part) != 1 {
			t.Errorf("%q is there %d times in\n%s", part, strings.Count(both, part), both)
		}
	}
	if none := page(); none != "" {
		t.Errorf("without connections: %q", none)
	}
}

// TestTraffic counts calls on both sides, and tells of them over the bus.
func TestTraffic(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		for range 3 {
			kit.Add(t, caller, kit.CalculatorHost)
			kit.Add(t, caller, callee.ID()+"."+kit.CalculatorHost)
		}
		_ = caller.Call(t.Context(), kit.CalculatorURL+"/divide", bus.Args{"x": 1}, nil)
		_ = caller.Call(t.Context(), kit.CalculatorURL+"/broken", nil, nil)
		_ = caller.Call(t.Context(), "https://nobody.example/x", nil, nil)
		kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who")
		type count struct{ total, refused, failed int64 }
		want := map[string]count{
			"Calculator.Add caller.example": {6, 0, 0}, "Calculator.Divide caller.example": {1, 1, 0},
			"Calculator.Broken caller.example": {1, 0, 1}, "Calculator.Who caller.example": {1, 0, 0},
			"Calculator.Wait ": {}, "to " + kit.CalculatorHost: {9, 1, 1}, "to nobody.example": {1, 0, 1},
		}
		got := map[string]count{}
		for _, conn := range []*bus.Conn{caller, callee} {
			var told metrics.Traffic
			require.NoError(t, caller.Call(t.Context(), "GET https://"+conn.ID()+"."+conn.Host()+":888/traffic", nil, &told))
			if told.Started.IsZero() {
				t.Error("it does not tell when it was started")
			}
			for _, served := range told.Served {
				got[served.Endpoint+" "+served.Caller] = count{served.Total(), served.Refused, served.Failed}
			}
			for _, made := range told.Made {
				if made.Total() > 0 && made.Took <= 0 {
					t.Errorf("calls of %s took %s", made.Callee, made.Took)
				}
				got["to "+made.Callee] = count{made.Total(), made.Refused, made.Failed}
			}
		}
		delete(got, "to "+callee.ID()+"."+kit.CalculatorHost)
		for name, wanted := range want {
			if got[name] != wanted {
				t.Errorf("%s: %+v, want %+v", name, got[name], wanted)
			}
		}
	})
}

// sample is a line of the text format of Prometheus, version 0.0.4, that has labels.
var sample = regexp.MustCompile(`^([a-z_]+)\{([a-z]+="(\\.|[^"\\\n])*",?)+\} [0-9.e+-]+$`)

// TestMetrics reads what Prometheus would.
func TestMetrics(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.CalculatorHost, bus.WithVersion("1 \"beta\"\\\n"))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		caller := w.Connect("caller.example")
		kit.Add(t, caller, kit.CalculatorHost)
		_ = caller.Call(t.Context(), kit.CalculatorURL+"/broken", nil, nil)
		// which it hears of itself
		_ = caller.Call(t.Context(), "https://"+callee.ID()+".calculator.example/nothing", nil, nil)
		response, text := kit.Do(t, caller, http.MethodGet, kit.CalculatorURL+":888/metrics", "", "")
		if response.StatusCode != 200 || !strings.HasPrefix(response.Header.Get("Content-Type"),
			"text/plain; version=0.0.4") {
			t.Fatal(response.Status, response.Header)
		}
		kinds := map[string]string{}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if fields := strings.Fields(line); strings.HasPrefix(line, "# TYPE") {
				if kinds[fields[2]] != "" {
					t.Errorf("%s begins twice", fields[2])
				}
				kinds[fields[2]] = fields[3]
			} else if !strings.HasPrefix(line, "# HELP") && !sample.MatchString(line) {
				t.Errorf("no sample: %s", line)
			}
		}
		instance := `host="calculator.example",id="` + callee.ID() + `"`
		for _, want := range []string{
			`busline_info{` + instance + `,version="1 \"beta\"\\\n",plane="` + w.Plane() + `"} 1`,
			`busline_connected{` + instance + `} 1`,
			`busline_server_duration_seconds_bucket{` + instance +
				`,endpoint="Calculator.Add",caller="caller.example",le="+Inf"} 1`,
			`busline_server_duration_seconds_count{` + instance + `,endpoint="Calculator.Add",caller="caller.example"} 1`,
			`busline_server_failed_total{` + instance + `,endpoint="Calculator.Broken",caller="caller.example"} 1`,
			`busline_rejected_total{` + instance + `,status="404"} 1`,
			`busline_rejected_total{` + instance + `,status="503"} 0`, // so that its first growth is seen
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("no line %s", want)
			}
		}
		assert.Equal(t, "histogram", kinds["busline_server_duration_seconds"])
		assert.Equal(t, "counter", kinds["busline_malformed_total"])
		assert.Equal(t, "gauge", kinds["busline_healthy"])
	})
}

// TestStats_CountCalls counts what a connection calls, and not what the framework asks on the way.
func TestStats_CountCalls(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		b.NewCalculators(2)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		call := func(ctx context.Context, address string) func() {
			return func() { _ = caller.Call(ctx, address, nil, nil) }
		}
		multicast := caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who"))
		for _, test := range []struct {
			name  string
			make  func()
			count int64
		}{
			{"a call", call(t.Context(), kit.CalculatorURL+"/add"), 1},
			{"one that fails", call(t.Context(), kit.CalculatorURL+"/broken"), 1},
			{"one that is retried", call(t.Context(), "https://nobody.example/add"), 1},
			{"another method", call(t.Context(), "PUT "+kit.CalculatorURL+"/add"), 1},
			{"cancelled", call(over, kit.CalculatorURL+"/add"), 1},
			{"no address", call(t.Context(), "https://a..b/add"), 0},
			{"a multicast", func() { kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who") }, 1},
			{"a range never taken", func() { caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) }, 0},
			{"two ranges", func() {
				for range 2 {
					for _, err := range multicast {
						assert.NoError(t, err)
					}
				}
			}, 2},
		} {
			before := caller.Stats().Calls
			test.make()
			if made := caller.Stats().Calls - before; made != test.count {
				t.Errorf("%s: counted %d times, want %d", test.name, made, test.count)
			}
		}
	})
}

// TestStats_CountCallsOfHandlers counts them for the connection that makes them.
func TestStats_CountCallsOfHandlers(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		front := w.Connect("front.example")
		err := front.Handle("GET", "/", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for range 3 {
				assert.NoError(t, front.Call(r.Context(), kit.CalculatorURL+"/add", nil, nil))
			}
		}))
		require.NoError(t, err)
		kit.Do(t, caller, "GET", "https://front.example/", "", "")
		one, other := caller.Stats().Calls, front.Stats().Calls
		assert.Equal(t, int64(1), one)
		assert.Equal(t, int64(3), other)
	})
}
