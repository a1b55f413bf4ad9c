package portal_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/busline/busline/bus"
)

// TestMulticast_Refuses holds that the endpoint leads no further than the ingress does, and for no other site.
func TestMulticast_Refuses(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.register()
	var called atomic.Int64
	for _, port := range []int{443, 444} {
		conn := door.bus.Connect("web.example")
		handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) })
		if err := conn.Handle("*", "/{rest+}", handler, bus.Port(port), bus.NoQueue()); err != nil {
			t.Fatal(err)
		}
	}
	const good = `{"method":"GET","target":"/web.example/"}`
	for _, test := range []struct {
		body    string
		headers []string
		status  int
		detail  string
	}{
		{good, nil, 415, "send application/json"},
		{good, []string{"Content-Type: text/plain"}, 415, "send application/json"},
		{good, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, "send application/json"},
		{good, []string{"Content-Type: text/plain, application/json"}, 415, "send application/json"},
		{good, []string{isJSON, "Sec-Fetch-Site: cross-site"}, 403, "pages of another site may not call door.example; see portal.WithOrigins"},
		{good, []string{isJSON, "Sec-Fetch-Site: same-site"}, 403, "pages of another site may not call door.example; see portal.WithOrigins"},
		{`{"method":"GET","target":"/web.example:444/"}`, []string{isJSON}, 404, `port "444" is not open`},
		{`{"method":"POST","target":"/web.example:888/cancel?id=x"}`, []string{isJSON}, 404, `port "888" is not open`},
		{`{"method":"GET","target":"/web.example:0443/"}`, []string{isJSON}, 404, "is not open"},
		{`{"method":"GET","target":"/all/ping"}`, []string{isJSON}, 404, "the host all is not open"},
		{`{"method":"GET","target":"/ALL:443/ping"}`, []string{isJSON}, 404, "the host all is not open"},
		{`{"method":"GET","target":"/*/"}`, []string{isJSON}, 404, "is not a hostname"},
		{`{"method":"GET","target":"/>/"}`, []string{isJSON}, 404, "is not a hostname"},
		{`{"method":"GET","target":"https://web.example/"}`, []string{isJSON}, 404, "is not open"},
		{`{"method":"GET","target":""}`, []string{isJSON}, 404, "is not a hostname"},
		{`{"method":"GET","target":"/web.example/%zz"}`, []string{isJSON}, 400, "percent sign"},
		{`{"method":"GET","target":"/web.example/` + strings.Repeat("x", 9000) + `"}`, []string{isJSON}, 414, "exceeds the limit"},
		{`{"method":"GET","target":"/web.example/` + strings.Repeat("x", 2000) + `"}`, []string{isJSON}, 414, ""},
		{`{"method":"","target":"/web.example/"}`, []string{isJSON}, 400, "is not forwarded"},
		{`{"method":"TRACE","target":"/web.example/"}`, []string{isJSON}, 400, "is not forwarded"},
		{`{"method":"GET /","target":"/web.example/"}`, []string{isJSON}, 400, "is not forwarded"},
		{`{"method":"GET","target":"/web.example/","contentType":"a\r\nBus-Actor: b"}`, []string{isJSON}, 400, "not a content type"},
		{`{"method":"GET","target":"/web.example/","headers":{}}`, []string{isJSON}, 400, "unknown field"},
		{good + "{}", []string{isJSON}, 400, "there is more after it"},
		{`[]`, []string{isJSON}, 400, "not one JSON object"},
		{``, []string{isJSON}, 400, "not one JSON object"},
		{`{"method":"POST","target":"/web.example/","body":"` + strings.Repeat("x", 1<<20) + `"}`, []string{isJSON}, 413, ""},
		{`{"body":"` + strings.Repeat("x", 3<<20) + `"}`, []string{isJSON}, 413, ""},
	} {
		got := door.order(test.body, test.headers...).problem(t)
		if got.Status != test.status || !strings.Contains(got.Detail, test.detail) {
			t.Errorf("%.80s %q: %d %s", test.body, test.headers, got.Status, got.Detail)
		}
	}
	if n := called.Load(); n != 0 {
		t.Errorf("the service was called %d times", n)
	}
	if got := door.get("/portal/multicast"); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", got.StatusCode)
	}
	preflight := door.send("OPTIONS /portal/multicast HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: https://evil.example\r\n"+
		"Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n\r\n", http.MethodOptions)
	if preflight.StatusCode != http.StatusForbidden || preflight.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a browser that asks for another site is answered %d %v", preflight.StatusCode, preflight.Header)
	}
	document := door.get("/portal/openapi.json")
	if strings.Contains(document.text, "multicast") || strings.Contains(document.text, "instances.json") {
		t.Errorf("the document lists what is for the page alone: %s", document.text)
	}
}
