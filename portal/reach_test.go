package portal_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/portal"
)

// order has the portal make a multicast.
func (d *door) order(body string, headers ...string) answer {
	d.t.Helper()
	head := append([]string{"Host: door.example", "Connection: close", fmt.Sprintf("Content-Length: %d", len(body))}, headers...)
	return d.send("POST /portal/multicast HTTP/1.1\r\n"+strings.Join(head, "\r\n")+"\r\n\r\n"+body, http.MethodPost)
}

const isJSON = "Content-Type: application/json"

// answers is what came back from a multicast.
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

// serveEach has instances of a host answer without a queue.
func (d *door) serveEach(host string, instances int, handler func(id string) http.HandlerFunc) {
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

// TestMulticastRefuses holds that the endpoint leads no further than the ingress does, and for no other site.
func TestMulticastRefuses(t *testing.T) {
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
		{good, []string{isJSON, "Sec-Fetch-Site: cross-site"}, 403, "not for another site"},
		{good, []string{isJSON, "Sec-Fetch-Site: same-site"}, 403, "not for another site"},
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
		{`{"method":"","target":"/web.example/"}`, []string{isJSON}, 400, "is not carried"},
		{`{"method":"TRACE","target":"/web.example/"}`, []string{isJSON}, 400, "is not carried"},
		{`{"method":"GET /","target":"/web.example/"}`, []string{isJSON}, 400, "is not carried"},
		{`{"method":"GET","target":"/web.example/","contentType":"a\r\nBus-Actor: b"}`, []string{isJSON}, 400, "not a content type"},
		{`{"method":"GET","target":"/web.example/","headers":{}}`, []string{isJSON}, 400, "unknown field"},
		{good + "{}", []string{isJSON}, 400, "something follows it"},
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

// TestMulticastBounds has instances answer much, binary, badly and never.
func TestMulticastBounds(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.register()
	bodies := map[string]http.HandlerFunc{
		"/large":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("é", 1<<20)) },
		"/binary": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0, 0xfe}) },
		"/panic":  func(http.ResponseWriter, *http.Request) { panic("the password is secret") },
		"/told": func(w http.ResponseWriter, r *http.Request) {
			bus.ServeError(w, r, &bus.Error{Status: 500, Detail: "the password is secret"})
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

// TestMulticastLate lists those who have answered beside those who do not.
func TestMulticastLate(t *testing.T) {
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

// TestMulticastAsCaller holds that a multicast is its caller's, and nobody's without a token.
func TestMulticastAsCaller(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	door := openFor(t, i)
	if err := portal.Register(door.bus.Connect("portal", i.trust())); err != nil {
		t.Fatal(err)
	}
	door.keep("vault.example", i.trust())
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

// instanceList reads which instances run.
func (d *door) instances(headers ...string) (plane string, hosts map[string][]struct {
	ID, Version string
	Ports       []int
}) {
	d.t.Helper()
	got := d.get("/portal/instances.json", headers...)
	if kept := got.Header.Get("Cache-Control"); got.StatusCode != http.StatusOK || kept != "private, no-store" {
		d.t.Fatalf("status %d, Cache-Control %q: %s", got.StatusCode, kept, got.text)
	}
	var list struct {
		Plane string
		Hosts map[string][]struct {
			ID, Version string
			Ports       []int
		}
	}
	got.decode(d.t, &list)
	return list.Plane, list.Hosts
}

func TestInstances(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	door := openFor(t, i)
	if err := portal.Register(door.bus.Connect("portal", i.trust())); err != nil {
		t.Fatal(err)
	}
	door.calculate("calculator.example")
	door.calculate("calculator.example")
	door.calculate("internal.example", bus.Port(444))
	door.calculate("hidden.example", bus.Hidden())
	both := door.bus.Connect("both.example", bus.WithVersion("7"))
	if err := bus.Serve(both, calculator{}); err != nil {
		t.Fatal(err)
	}
	if err := both.Handle("GET", "/x", http.HandlerFunc(echo), bus.Port(444)); err != nil {
		t.Fatal(err)
	}
	secret := door.bus.Connect("secret.example", i.trust())
	if err := bus.Serve(secret, calculator{}, bus.Claims(`"keeper" in roles`)); err != nil {
		t.Fatal(err)
	}
	plane, hosts := door.instances()
	if plane != door.bus.Plane() || len(hosts) != 2 || len(hosts["calculator.example"]) != 2 || len(hosts["both.example"]) != 1 {
		t.Errorf("plane %s with %v", plane, hosts)
	}
	if one := hosts["both.example"][0]; one.ID != both.ID() || one.Version != "7" || fmt.Sprint(one.Ports) != "[443]" {
		t.Errorf("%+v", one)
	}
	if two := hosts["calculator.example"]; two[0].ID >= two[1].ID {
		t.Errorf("not sorted: %v", two)
	}
	if _, hosts := door.instances(i.in("keeper")); len(hosts["secret.example"]) != 1 {
		t.Errorf("a keeper sees %v", hosts)
	}
	if got := door.get("/portal/instances.json", i.bearer(claims.Claims{"exp": 1})); got.StatusCode != 401 {
		t.Errorf("a token that has expired: status %d", got.StatusCode)
	}
}

// TestWhoAnswered holds that a client learns which instance has answered, and that a service's own word stays.
func TestWhoAnswered(t *testing.T) {
	t.Parallel()
	door := open(t)
	conn := door.bus.Connect("web.example")
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Proxy-Status", "inner; error=x") })
	if err := conn.Handle("GET", "/{rest+}", handler); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/web.example/x", "/" + conn.ID() + ".web.example/x"} {
		got := door.get(path).Header.Values("Proxy-Status")
		want := regexp.MustCompile(`^busline; next-hop="` + conn.ID() + `\.web\.example"; msg-id="[A-Za-z0-9_-]{22,}"$`)
		if len(got) != 2 || got[0] != "inner; error=x" || !want.MatchString(got[1]) {
			t.Errorf("%s: Proxy-Status %q", path, got)
		}
	}
	if got := door.get("/nobody.example/"); got.Header.Get("Proxy-Status") != "" {
		t.Errorf("nobody: Proxy-Status %q", got.Header.Get("Proxy-Status"))
	}
}

// TestAway holds that a person is told in words when the page cannot be had, and a program as ever.
func TestAway(t *testing.T) {
	t.Parallel()
	door := open(t)
	got := door.get("/portal/", "Accept: text/html,application/xhtml+xml,*/*;q=0.8")
	policy := got.Header.Get("Content-Security-Policy")
	if got.StatusCode != 503 || got.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
		!strings.Contains(got.text, "The bus is out of reach") || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("status %d %v: %s", got.StatusCode, got.Header, got.text)
	}
	for path, accept := range map[string]string{"/portal/": "*/*", "/portal/main.js": "text/html", "/nobody.example/": "text/html"} {
		if told := door.get(path, "Accept: "+accept).problem(t); told.Status != 503 {
			t.Errorf("%s: %+v", path, told)
		}
	}
}
