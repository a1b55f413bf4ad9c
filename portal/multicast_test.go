package portal_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// order requests a multicast from the portal.
func (d *testIngress) order(body string, headers ...string) portaltest.Answer {
	d.T.Helper()
	head := append([]string{"Host: door.example", "Connection: close", fmt.Sprintf("Content-Length: %d", len(body))},
		headers...)
	return d.Send("POST /portal/multicast HTTP/1.1\r\n"+strings.Join(head, "\r\n")+"\r\n\r\n"+body, http.MethodPost)
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

func answersOf(t *testing.T, a portaltest.Answer) (got answers) {
	t.Helper()
	require.Equal(t, http.StatusOK, a.StatusCode, a.Text)
	require.Equal(t, "private, no-store", a.Header.Get("Cache-Control"), a.Text)
	a.Decode(t, &got)
	return got
}

// serveEach starts instances of a host without a queue, so that all of them answer.
func (d *testIngress) serveEach(host string, instances int, handler func(id string) http.HandlerFunc) {
	d.T.Helper()
	for range instances {
		conn := d.Bus.Connect(host)
		require.NoError(d.T, conn.Handle("*", "/{rest+}", handler(conn.ID()), bus.NoQueue()))
	}
}

func TestMulticast(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	entrance.serveEach("web.example", 3, func(id string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Answered", id)
			w.Header().Set("Set-Cookie", "a=b")
			portaltest.Echo(w, r)
		}
	})
	got := answersOf(t,
		entrance.order(`{"method":"PUT","target":"/web.example/a%2Fb?x=1","contentType":"text/plain","body":"é"}`, isJSON))
	require.Len(t, got.Answers, 3)
	require.True(t, got.Complete)
	ids := make(map[string]bool)
	for _, one := range got.Answers {
		ids[one.ID] = true
		var said portaltest.Echoed
		require.NoError(t, json.Unmarshal([]byte(one.Body), &said))
		assert.Equal(t, "PUT", said.Method)
		assert.Equal(t, "/a%2Fb?x=1", said.Target)
		assert.Equal(t, "é", said.Body)
		assert.Equal(t, "text/plain", said.Header.Get("Content-Type"))
		assert.Equal(t, 200, one.Status)
		assert.Equal(t, "web.example", one.Host)
		assert.GreaterOrEqual(t, len(one.MsgID), 22)
		assert.Equal(t, len(one.Body), one.Length)
		assert.Positive(t, one.Milliseconds)
		require.Len(t, one.Header, 1)
		assert.Equal(t, "application/json", one.Header["Content-Type"])
	}
	if len(ids) != 3 {
		t.Errorf("answers of %v", ids)
	}
	none := entrance.order(`{"method":"GET","target":"/nobody.example/"}`, isJSON)
	got = answersOf(t, none)
	assert.Empty(t, got.Answers, "nobody")
	assert.Contains(t, none.Text, `"answers":[]`, "nobody")
}

// TestMulticast_Bounds calls instances that answer much, binary, badly and never.
func TestMulticast_Bounds(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	bodies := map[string]http.HandlerFunc{
		"/large":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("é", 1<<20)) },
		"/binary": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0, 0xfe}) },
		"/panic":  func(http.ResponseWriter, *http.Request) { panic("the password is secret") },
		"/told": func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, &bus.Error{Status: 500, Detail: "the password is secret"})
		},
	}
	entrance.serveEach("web.example", 1, func(string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { bodies[r.URL.Path](w, r) }
	})
	call := func(path string) answers {
		return answersOf(t, entrance.order(`{"method":"GET","target":"/web.example`+path+`"}`, isJSON))
	}
	got := call("/large").Answers[0]
	assert.True(t, got.Cut, "large")
	assert.Equal(t, 2<<20, got.Length, "large")
	assert.Equal(t, 64<<10, len(got.Body), "large")
	assert.NotContains(t, got.Body, "�", "large")
	got = call("/binary").Answers[0]
	assert.True(t, got.Binary, "binary")
	assert.Empty(t, got.Body, "binary")
	assert.Equal(t, 3, got.Length, "binary")
	for _, path := range []string{"/panic", "/told"} {
		got := call(path).Answers[0]
		assert.Equal(t, 500, got.Status, path)
		assert.NotContains(t, got.Body, "secret", path)
		assert.Contains(t, got.Body, "the reason is in the log", path)
		assert.Contains(t, got.Body, `"instance":"/web.example`+path+`"`, path)
	}
}

// TestMulticast_Late lists those who have answered beside those who do not.
func TestMulticast_Late(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	release := make(chan struct{})
	var first atomic.Bool
	entrance.serveEach("web.example", 2, func(string) http.HandlerFunc {
		late := first.CompareAndSwap(false, true)
		return func(w http.ResponseWriter, _ *http.Request) {
			if late {
				<-release
			}
			fmt.Fprint(w, "here")
		}
	})
	t.Cleanup(func() { close(release) })
	got := answersOf(t, entrance.order(`{"method":"GET","target":"/web.example/x"}`, isJSON, "Request-Timeout: 2"))
	require.Len(t, got.Answers, 2)
	assert.Equal(t, "here", got.Answers[0].Body)
	assert.Equal(t, 504, got.Answers[1].Status)
	assert.NotEmpty(t, got.Answers[1].Failure)
}

// TestMulticast_AsCaller holds that a multicast is its caller's, and no caller's without a token.
func TestMulticast_AsCaller(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openFor(t, i)
	require.NoError(t, portal.Register(entrance.Bus.Connect("portal", i.Trust()), longTimeouts()...))
	entrance.Keep("vault.example", i.Trust())
	for _, test := range []struct {
		header string
		status int
	}{{"X: y", 401}, {i.In("cook"), 403}, {i.In("keeper"), 200}} {
		got := answersOf(t, entrance.order(`{"method":"POST","target":"/vault.example/gold"}`, isJSON, test.header))
		require.Len(t, got.Answers, 1, "%.30s", test.header)
		assert.Equal(t, test.status, got.Answers[0].Status, "%.30s", test.header)
	}
	if got := entrance.order(`{"method":"POST","target":"/vault.example/stones"}`, isJSON,
		"Authorization: Bearer x"); got.StatusCode != 401 {
		t.Errorf("a bad token: status %d", got.StatusCode)
	}
}

// TestMulticast_Refuses holds that the endpoint leads no further than the ingress does, and for no other site.
func TestMulticast_Refuses(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	var called atomic.Int64
	for _, port := range []int{443, 444} {
		conn := entrance.Bus.Connect("web.example")
		handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) })
		require.NoError(t, conn.Handle("*", "/{rest+}", handler, bus.Port(port), bus.NoQueue()))
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
		{good, []string{isJSON, "Sec-Fetch-Site: cross-site"}, 403,
			"pages of another site may not call door.example; see ingress.WithOrigins"},
		{good, []string{isJSON, "Sec-Fetch-Site: same-site"}, 403,
			"pages of another site may not call door.example; see ingress.WithOrigins"},
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
		{`{"method":"GET","target":"/web.example/` + strings.Repeat("x", 9000) + `"}`, []string{isJSON}, 414,
			"exceeds the limit"},
		{`{"method":"GET","target":"/web.example/` + strings.Repeat("x", 2000) + `"}`, []string{isJSON}, 414, ""},
		{`{"method":"","target":"/web.example/"}`, []string{isJSON}, 400, "is not forwarded"},
		{`{"method":"TRACE","target":"/web.example/"}`, []string{isJSON}, 400, "is not forwarded"},
		{`{"method":"GET /","target":"/web.example/"}`, []string{isJSON}, 400, "is not forwarded"},
		{`{"method":"GET","target":"/web.example/","contentType":"a\r\nBus-Actor: b"}`, []string{isJSON}, 400,
			"not a content type"},
		{`{"method":"GET","target":"/web.example/","headers":{}}`, []string{isJSON}, 400, "unknown field"},
		{good + "{}", []string{isJSON}, 400, "there is more after it"},
		{`[]`, []string{isJSON}, 400, "not one JSON object"},
		{``, []string{isJSON}, 400, "not one JSON object"},
		{`{"method":"POST","target":"/web.example/","body":"` + strings.Repeat("x", 1<<20) + `"}`, []string{isJSON}, 413, ""},
		{`{"body":"` + strings.Repeat("x", 3<<20) + `"}`, []string{isJSON}, 413, ""},
	} {
		got := entrance.order(test.body, test.headers...).Problem(t)
		assert.Equal(t, test.status, got.Status, "%.80s %q", test.body, test.headers)
		assert.Contains(t, got.Detail, test.detail, "%.80s %q", test.body, test.headers)
	}
	if n := called.Load(); n != 0 {
		t.Errorf("the service was called %d times", n)
	}
	if got := entrance.Get("/portal/multicast"); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", got.StatusCode)
	}
	preflight := entrance.Send("OPTIONS /portal/multicast HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: "+
		"https://evil.example\r\n"+
		"Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n\r\n", http.MethodOptions)
	assert.Equal(t, http.StatusForbidden, preflight.StatusCode)
	assert.Empty(t, preflight.Header.Get("Access-Control-Allow-Origin"))
	document := entrance.Get("/portal/openapi.json")
	assert.NotContains(t, document.Text, "multicast", "the document lists what is for the page alone")
	assert.NotContains(t, document.Text, "instances.json", "the document lists what is for the page alone")
}
