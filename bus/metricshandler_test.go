package bus_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/metrics"
)

// TestMetricsHandler has one page tell of all connections of a process, each metric in one place.
func TestMetricsHandler(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	callee, caller := b.Connect("wrapper.example"), b.Connect("caller.example")
	serve(t, callee, wrapper{})
	_ = caller.Call(t.Context(), "https://wrapper.example/wrapped", nil, nil)
	page := func(conns ...*bus.Conn) string {
		w := httptest.NewRecorder()
		bus.MetricsHandler(conns...).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != metrics.ContentType {
			t.Errorf("answered %d, %v", w.Code, w.Header())
		}
		return w.Body.String()
	}
	both := page(callee, caller, callee)
	for _, part := range []string{
		`busline_info{host="wrapper.example",id="` + callee.ID() + `"`, `busline_info{host="caller.example",id="` + caller.ID() + `"`,
		`busline_server_refused_total{host="wrapper.example"`, `busline_client_refused_total{host="caller.example"`, "# TYPE busline_info gauge\n",
	} {
		if strings.Count(both, part) != 1 {
			t.Errorf("%q is there %d times in\n%s", part, strings.Count(both, part), both)
		}
	}
	if none := page(); none != "" {
		t.Errorf("without connections: %q", none)
	}
}

// TestMetrics_OfOneName counts the requests of endpoints that have the same name together: the format permits a series once.
func TestMetrics_OfOneName(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	callee := b.Connect(calculatorHost)
	caller := b.Connect("caller.example")
	for _, port := range []int{443, 444} {
		serve(t, callee, calculator{callee.ID()}, bus.Port(port))
		if err := callee.Handle(http.MethodGet, "/x", http.NotFoundHandler(), bus.Port(port)); err != nil {
			t.Fatal(err)
		}
	}
	serve(t, callee, twofold{}, bus.Method("ReadNote", bus.RPCAndREST()))
	for _, address := range []string{
		calculatorURL + "/add", calculatorURL + ":444/add", calculatorURL + ":444/add", "GET " + calculatorURL + "/x", "GET " + calculatorURL + ":444/x",
		calculatorURL + "/read-note", "GET " + calculatorURL + "/notes/{id}",
	} {
		_ = caller.Call(t.Context(), address, bus.Args{"id": 1}, nil)
	}
	for _, source := range []string{ordersHost, "returns.example"} {
		if err := bus.Subscribe[orderEvents](callee, source, newSink()); err != nil {
			t.Fatal(err)
		}
		events, err := caller.NewPublisher(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range bus.NewEvent[orderedArguments](events, "/on-ordered").Outcomes(t.Context(), orderedArguments{7}) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	page, own := httptest.NewRecorder(), httptest.NewRecorder()
	bus.MetricsHandler(callee).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	callee.ServeMetrics(own, nil)
	if page.Code != http.StatusOK {
		t.Fatalf("answered %d, %s", page.Code, page.Body)
	}
	instance := `{host="` + calculatorHost + `",id="` + callee.ID() + `",`
	for of, text := range map[string]string{"MetricsHandler": page.Body.String(), "ServeMetrics": own.Body.String()} {
		for series, want := range map[string]string{
			`busline_server_duration_seconds_count` + instance + `endpoint="calculator.Add",caller="caller.example"} `:        "3",
			`busline_server_duration_seconds_count` + instance + `endpoint="twofold.ReadNote",caller="caller.example"} `:      "2",
			`busline_server_duration_seconds_count` + instance + `endpoint="orderEvents.OnOrdered",caller="caller.example"} `: "2",
			`busline_server_refused_total` + instance + `endpoint="GET /x",caller="caller.example"} `:                         "2",
		} {
			if strings.Count(text, series) != 1 || !strings.Contains(text, series+want+"\n") {
				t.Errorf("%s: not once %s%s in\n%s", of, series, want, text)
			}
		}
	}
}

// twofold has a method that can be served as RPC and as REST.
type twofold struct{}

func (twofold) ReadNote(id int) (text string) { return "" }
