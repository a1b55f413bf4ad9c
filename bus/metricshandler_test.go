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
	_ = bus.Call(t.Context(), caller, "https://wrapper.example/wrapped", nil, nil)
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
