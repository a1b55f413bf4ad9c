package portal_test

import (
	"net/http"
	"testing"
)

// TestTrace_InProblems has every error name the trace of its request, whoever has made it.
func TestTrace_InProblems(t *testing.T) {
	t.Parallel()
	door := open(t)
	one := door.bus.Connect("web.example")
	if err := one.Handle("GET", "/missing", http.HandlerFunc(failing)); err != nil {
		t.Fatal(err)
	}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	for _, test := range []struct {
		path, token string
		status      int
		onTheBus    bool
	}{
		{"/web.example/missing", "", 404, true},   // the handler
		{"/web.example/nothing", "", 404, true},   // the service
		{"/nobody.example/", "", 503, true},       // the call
		{"/web.example:888/ping", "", 404, false}, // the ingress
		{"/web.example/missing", "x", 401, false},
	} {
		headers := []string{"Traceparent: 00-" + trace + "-b7ad6b7169203331-01"}
		if test.token != "" {
			headers = append(headers, "Authorization: Bearer "+test.token)
		}
		got := door.get(test.path, headers...)
		if told := got.problem(t); told.Status != test.status || told.TraceID != trace || told.ID == "" || (told.MsgID != "") != test.onTheBus {
			t.Errorf("%s: %s", test.path, got.text)
		}
		if told := door.get(test.path, headers[1:]...).problem(t); told.TraceID != "" {
			t.Errorf("%s without a trace: %+v", test.path, told)
		}
	}
}
