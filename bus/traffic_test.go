package bus_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/metrics"
)

// TestTraffic counts calls on both sides, and tells of them over the bus.
func TestTraffic(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, callee := newCalculator(t, w)
		for range 3 {
			add(t, caller, calculatorHost)
			add(t, caller, callee.ID()+"."+calculatorHost)
		}
		_ = caller.Call(t.Context(), calculatorURL+"/divide", bus.Args{"x": 1}, nil)
		_ = caller.Call(t.Context(), calculatorURL+"/broken", nil, nil)
		_ = caller.Call(t.Context(), "https://nobody.example/x", nil, nil)
		publish(t, caller, calculatorURL+"/who")
		type count struct{ total, refused, failed int64 }
		want := map[string]count{
			"calculator.Add caller.example": {6, 0, 0}, "calculator.Divide caller.example": {1, 1, 0},
			"calculator.Broken caller.example": {1, 0, 1}, "calculator.Who caller.example": {1, 0, 0},
			"calculator.Wait ": {}, "to " + calculatorHost: {9, 1, 1}, "to nobody.example": {1, 0, 1},
		}
		got := map[string]count{}
		for _, conn := range []*bus.Conn{caller, callee} {
			var told metrics.Traffic
			if err := caller.Call(t.Context(), "GET https://"+conn.ID()+"."+conn.Host()+":888/traffic", nil, &told); err != nil {
				t.Fatal(err)
			}
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
		delete(got, "to "+callee.ID()+"."+calculatorHost)
		for name, wanted := range want {
			if got[name] != wanted {
				t.Errorf("%s: %+v, want %+v", name, got[name], wanted)
			}
		}
	})
}

// TestTraffic_WithOneInstance counts calls to a certain instance as calls to its host, whatever becomes of them: instances come and
// go, and each would take a label of its own.
func TestTraffic_WithOneInstance(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		for _, shortCircuit := range []bool{true, false} {
			callee := b.Connect(calculatorHost)
			serve(t, callee, calculator{callee.ID()}, bus.Method("Who", bus.NoQueue()))
			caller := b.Connect("caller.example", withShortCircuit(shortCircuit))
			one := callee.ID() + "." + calculatorHost
			publish(t, caller, "https://"+one+"/who")
			add(t, caller, one)
			soon, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := caller.Call(soon, "https://"+one+"/wait", nil, nil); bus.StatusOf(err) != http.StatusGatewayTimeout {
				t.Error(err)
			}
			cancel()
			if made := caller.Traffic().Made; len(made) != 1 || made[0].Callee != calculatorHost || made[0].Total() != 3 || made[0].Failed != 1 {
				t.Errorf("short circuit %t: %+v", shortCircuit, made)
			}
		}
	})
}

// TestTraffic_WithoutTheFramework leaves out what is asked on port 888, whoever asks: also who collects the metrics.
func TestTraffic_WithoutTheFramework(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, _ := newCalculator(t, w)
		do(t, caller, http.MethodGet, calculatorURL+":888/metrics", "", "")
		_ = caller.Call(t.Context(), "GET https://nobody.example:888/ping", nil, nil)
		for _, err := range caller.Multicast(mustRequest(t, "https://all:888/ping")) {
			if err != nil {
				t.Error(err)
			}
		}
		if made := caller.Traffic().Made; len(made) > 0 {
			t.Errorf("%+v", made)
		}
	})
}

// sample is a line of the text format of Prometheus, version 0.0.4, that has labels.
var sample = regexp.MustCompile(`^([a-z_]+)\{([a-z]+="(\\.|[^"\\\n])*",?)+\} [0-9.e+-]+$`)

// TestMetrics reads what Prometheus would.
func TestMetrics(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		callee := w.connect(calculatorHost, bus.WithVersion("1 \"beta\"\\\n"))
		serve(t, callee, calculator{callee.ID()})
		caller := w.connect("caller.example")
		add(t, caller, calculatorHost)
		_ = caller.Call(t.Context(), calculatorURL+"/broken", nil, nil)
		_ = caller.Call(t.Context(), "https://"+callee.ID()+".calculator.example/nothing", nil, nil) // which it hears of itself
		response, text := do(t, caller, http.MethodGet, calculatorURL+":888/metrics", "", "")
		if response.StatusCode != 200 || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
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
			`busline_server_duration_seconds_bucket{` + instance + `,endpoint="calculator.Add",caller="caller.example",le="+Inf"} 1`,
			`busline_server_duration_seconds_count{` + instance + `,endpoint="calculator.Add",caller="caller.example"} 1`,
			`busline_server_failed_total{` + instance + `,endpoint="calculator.Broken",caller="caller.example"} 1`,
			`busline_rejected_total{` + instance + `,status="404"} 1`,
			`busline_rejected_total{` + instance + `,status="503"} 0`, // so that its first growth is seen
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("no line %s", want)
			}
		}
		if kinds["busline_server_duration_seconds"] != "histogram" || kinds["busline_malformed_total"] != "counter" || kinds["busline_healthy"] != "gauge" {
			t.Errorf("kinds %v", kinds)
		}
	})
}

// TestTraffic_TellsThePortOfDocuments has a service on two ports, each with a document of its own.
func TestTraffic_TellsThePortOfDocuments(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	callee := b.Connect(calculatorHost)
	serve(t, callee, calculator{callee.ID()}, bus.Method("Who", bus.Port(444)))
	var ports []int
	for _, served := range callee.Traffic().Served {
		if served.Path == "/openapi.json" {
			ports = append(ports, served.Port)
		}
	}
	if !slices.Equal(ports, []int{443, 444}) {
		t.Errorf("documents on ports %v", ports)
	}
}
