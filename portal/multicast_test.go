package portal_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
)

// order requests a multicast from the portal.
func (d *testIngress) order(body string, headers ...string) answer {
	d.t.Helper()
	head := append([]string{"Host: door.example", "Connection: close", fmt.Sprintf("Content-Length: %d", len(body))}, headers...)
	return d.send("POST /portal/multicast HTTP/1.1\r\n"+strings.Join(head, "\r\n")+"\r\n\r\n"+body, http.MethodPost)
}

const isJSON = "Content-Type: application/json"

// answers is the result of a multicast.
type answers struct {
	Answers []struct {
		Host, ID, MsgID, Body, Failure string
		Status, Length                 int
		Cut, Binary                    bool
		Header                         map[string]string
		Milliseconds                   float64
	}
	Complete bool
}

func (a answer) answers(t *testing.T) (got answers) {
	t.Helper()
	if a.StatusCode != http.StatusOK || a.Header.Get("Cache-Control") != "private, no-store" {
		t.Fatalf("status %d, Cache-Control %q: %s", a.StatusCode, a.Header.Get("Cache-Control"), a.text)
	}
	a.decode(t, &got)
	return got
}

// serveEach starts instances of a host without a queue, so that all of them answer.
func (d *testIngress) serveEach(host string, instances int, handler func(id string) http.HandlerFunc) {
	d.t.Helper()
	for range instances {
		conn := d.bus.Connect(host)
		if err := conn.Handle("*", "/{rest+}", handler(conn.ID()), bus.NoQueue()); err != nil {
			d.t.Fatal(err)
		}
	}
}

func TestMulticast(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.register()
	door.serveEach("web.example", 3, func(id string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Answered", id)
			w.Header().Set("Set-Cookie", "a=b")
			echo(w, r)
		}
	})
	got := door.order(`{"method":"PUT","target":"/web.example/a%2Fb?x=1","contentType":"text/plain","body":"é"}`, isJSON).answers(t)
	if len(got.Answers) != 3 || !got.Complete {
		t.Fatalf("%+v", got)
	}
	ids := make(map[string]bool)
	for _, one := range got.Answers {
		ids[one.ID] = true
		var said echoed
		if err := json.Unmarshal([]byte(one.Body), &said); err != nil {
			t.Fatal(err)
		}
		if said.Method != "PUT" || said.Target != "/a%2Fb?x=1" || said.Body != "é" || said.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("the service got %+v", said)
		}
		if one.Status != 200 || one.Host != "web.example" || len(one.MsgID) < 22 || one.Length != len(one.Body) || one.Milliseconds <= 0 {
			t.Errorf("%+v", one)
		}
		if len(one.Header) != 1 || one.Header["Content-Type"] != "application/json" {
			t.Errorf("headers %v", one.Header)
		}
	}
	if len(ids) != 3 {
		t.Errorf("answers of %v", ids)
	}
	none := door.order(`{"method":"GET","target":"/nobody.example/"}`, isJSON)
	if got := none.answers(t); len(got.Answers) != 0 || !strings.Contains(none.text, `"answers":[]`) {
		t.Errorf("nobody: %s", none.text)
	}
}

// TestMulticast_Bounds has instances answer much, binary, badly and never.
func TestMulticast_Bounds(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.register()
	bodies := map[string]http.HandlerFunc{
		"/large":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("é", 1<<20)) },
		"/binary": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0, 0xfe}) },
		"/panic":  func(http.ResponseWriter, *http.Request) { panic("the password is secret") },
		"/told": func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, &bus.Error{Status: 500, Detail: "the password is secret"})
		},
	}
	door.serveEach("web.example", 1, func(string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { bodies[r.URL.Path](w, r) }
	})
	call := func(path string) answers {
		return door.order(`{"method":"GET","target":"/web.example`+path+`"}`, isJSON).answers(t)
	}
	if got := call("/large").Answers[0]; !got.Cut || got.Length != 2<<20 || len(got.Body) != 64<<10 || strings.Contains(got.Body, "�") {
		t.Errorf("large: %d of %d bytes, cut %v", len(got.Body), got.Length, got.Cut)
	}
	if got := call("/binary").Answers[0]; !got.Binary || got.Body != "" || got.Length != 3 {
		t.Errorf("binary: %+v", got)
	}
	for _, path := range []string{"/panic", "/told"} {
		got := call(path).Answers[0]
		if got.Status != 500 || strings.Contains(got.Body, "secret") || !strings.Contains(got.Body, "the reason is in the log") ||
			!strings.Contains(got.Body, `"instance":"/web.example`+path+`"`) {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// TestMulticast_Late lists those who have answered beside those who do not.
func TestMulticast_Late(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.register()
	release := make(chan struct{})
	var first atomic.Bool
	door.serveEach("web.example", 2, func(string) http.HandlerFunc {
		late := first.CompareAndSwap(false, true)
		return func(w http.ResponseWriter, _ *http.Request) {
			if late {
				<-release
			}
			fmt.Fprint(w, "here")
		}
	})
	t.Cleanup(func() { close(release) })
	got := door.order(`{"method":"GET","target":"/web.example/x"}`, isJSON, "Request-Timeout: 2").answers(t)
	if len(got.Answers) != 2 || got.Answers[0].Body != "here" || got.Answers[1].Status != 504 || got.Answers[1].Failure == "" {
		t.Errorf("%+v", got)
	}
}

// TestMulticast_AsCaller holds that a multicast is its caller's, and nobody's without a token.
func TestMulticast_AsCaller(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	door := openFor(t, i)
	if err := portal.Register(door.bus.Connect("portal", i.Trust()), patient()...); err != nil {
		t.Fatal(err)
	}
	door.keep("vault.example", i.Trust())
	for _, test := range []struct {
		header string
		status int
	}{{"X: y", 401}, {i.in("cook"), 403}, {i.in("keeper"), 200}} {
		got := door.order(`{"method":"POST","target":"/vault.example/gold"}`, isJSON, test.header).answers(t)
		if len(got.Answers) != 1 || got.Answers[0].Status != test.status {
			t.Errorf("%.30s: %+v", test.header, got)
		}
	}
	if got := door.order(`{"method":"POST","target":"/vault.example/stones"}`, isJSON, "Authorization: Bearer x"); got.StatusCode != 401 {
		t.Errorf("a bad token: status %d", got.StatusCode)
	}
}

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
