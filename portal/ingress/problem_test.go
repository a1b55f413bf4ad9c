package ingress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

func TestCall_NoInstance(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	got := entrance.Get("/nobody.example/x%20y?q=1")
	problem := got.Problem(t)
	assert.Equal(t, http.StatusServiceUnavailable, problem.Status)
	assert.Equal(t, "/nobody.example/x%20y", problem.Instance)
	assert.Equal(t, "ingress", problem.Host)
	if problem.Detail != "no instance serves nobody.example on port 443" {
		t.Errorf("detail %q", problem.Detail)
	}
}

func TestNotServed(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	require.NoError(t, entrance.Bus.Connect("calculator.example").Handle("POST", "/add",
		http.HandlerFunc(portaltest.Echo)))
	got := entrance.Get("/calculator.example/subtract")
	problem := got.Problem(t)
	assert.Equal(t, http.StatusNotFound, problem.Status, "wrong path")
	assert.Equal(t, "/calculator.example/subtract", problem.Instance, "wrong path")
	got = entrance.Get("/calculator.example:443/add")
	problem = got.Problem(t)
	assert.Equal(t, http.StatusMethodNotAllowed, problem.Status, "wrong method")
	assert.Equal(t, "/calculator.example:443/add", problem.Instance, "wrong method")
	if allow := got.Header.Get("Allow"); allow != "POST" {
		t.Errorf("wrong method: Allow is %q", allow)
	}
}

// soldOut gives an error a type and details.
func soldOut(err error) error {
	return bus.ErrorWithDetails(err, "https://shop.example/secret", map[string]any{"sku": "secret", "left": 0})
}

// failing responds with an error that depends on the path.
func failing(w http.ResponseWriter, r *http.Request) {
	write := func(status int, kind, body string) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
	switch r.URL.Path {
	case "/missing":
		bus.WriteError(w, r, bus.Errorf(http.StatusNotFound, "no product 7"))
	case "/broken":
		bus.WriteError(w, r, errors.New("the password is secret"))
	case "/late":
		bus.WriteError(w, r, fmt.Errorf("dialling secret@db.internal: %w", context.DeadlineExceeded))
	case "/given-up":
		bus.WriteError(w, r, fmt.Errorf("dialling secret@db.internal: %w", context.Canceled))
	case "/told-late":
		bus.WriteError(w, r, bus.Errorf(http.StatusGatewayTimeout, "the warehouse is closed: %w", context.DeadlineExceeded))
	case "/panic":
		panic("the password is secret")
	case "/foreign":
		write(409, "application/problem+json; charset=utf-8",
			`{"status":409,"extra":[1,2],"instance":"/theirs","host":"deep.example","title":"Conflict"}`)
	case "/bare":
		write(409, "application/problem+json", `{"status":409}`)
	case "/garbage":
		write(409, "application/problem+json", `{"status":409,`)
	case "/array":
		write(409, "application/problem+json", `[409]`)
	case "/broken-garbage":
		write(500, "application/problem+json", `the password is secret`)
	case "/broken-foreign":
		write(500, "application/problem+json",
			`{"type":"https://secret.example/","title":"the password is secret","status":500,"stack":["secret"],`+
				`"traceId":{"secret":1},"errors":[{"name":"secret"}],"host":"deep.example","id":"a1","msgId":"m1","instance":"/secret"}`)
	case "/broken-zipped":
		w.Header().Set("Content-Encoding", "gzip")
		write(500, "application/problem+json", "\x1f\x8bsecret")
	case "/broken-huge":
		write(500, "application/problem+json", `{"status":500,"detail":"`+strings.Repeat("secret", 1<<18)+`"}`)
	case "/denied-huge":
		write(403, "application/problem+json", `{"status":403,"internal":true,"more":"`+strings.Repeat("secret", 1<<18)+`"}`)
	case "/sold-out":
		bus.WriteError(w, r, soldOut(bus.Errorf(http.StatusConflict, "none left")))
	case "/broken-details":
		bus.WriteError(w, r, soldOut(errors.New("the password is secret")))
	case "/late-details":
		bus.WriteError(w, r, soldOut(fmt.Errorf("dialling secret@db.internal: %w", context.DeadlineExceeded)))
	case "/late-zipped":
		w.Header().Set("Content-Encoding", "gzip")
		write(504, "application/problem+json", "\x1f\x8bsecret")
	case "/late-foreign":
		write(504, "application/problem+json",
			`{"type":"about:blank","title":"secret","status":504,"detail":"secret","internal":true,"host":"deep.example","id":"a1","msgId":"m1"}`)
	case "/text":
		write(500, "text/plain", `sorry`)
	case "/strange":
		write(999, "text/plain", `strange`)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("web.example", 443, failing)
	tests := []struct {
		path   string
		status int
		text   string // of the body
		detail string // of the problem
	}{
		{"/missing", 404, "", "no product 7"},
		{"/broken", 500, "", "the reason is in the log of the service, at msgId "},
		{"/late", 504, "", "the reason is in the log of the service, at msgId "},
		{"/given-up", 503, "", "the reason is in the log of the service, at msgId "},
		{"/told-late", 504, "", "the warehouse is closed: context deadline exceeded"},
		{"/late-zipped", 504, "", "the reason is in the log of the service, at msgId "},
		{"/late-foreign", 504,
			`{"type":"about:blank","status":504,"host":"deep.example","id":"a1","msgId":"m1","title":"Gateway Timeout",` +
				`"instance":"/web.example/late-foreign","detail":"something took too long; the reason is in the log of the service, at msgId m1"}`, ""},
		{"/panic", 500, "", "the reason is in the log of the service, at msgId "},
		{"/foreign", 409,
			`{"status":409,"extra":[1,2],"instance":"/web.example/foreign","host":"deep.example","title":"Conflict"}`, ""},
		{"/bare", 409, "", ""},
		{"/garbage", 409, `{"status":409,`, ""},
		{"/array", 409, `[409]`, ""},
		{"/broken-garbage", 500, "", "the reason is in the log of the service, at msgId "},
		{"/broken-foreign", 500, `{"type":"about:blank","status":500,"host":"deep.example","id":"a1","msgId":"m1",` +
			`"title":"Internal Server Error","instance":"/web.example/broken-foreign","detail":"the reason is in the log of the service, at msgId m1"}`, ""},
		{"/broken-zipped", 500, "", "the reason is in the log of the service, at msgId "},
		{"/broken-huge", 500, "", "the reason is in the log of the service, at msgId "},
		{"/denied-huge", 403, "", "the reason is in the log of the service, at msgId "},
		{"/broken-details", 500, "", "the reason is in the log of the service, at msgId "},
		{"/late-details", 504, "", "the reason is in the log of the service, at msgId "},
		{"/text", 500, "sorry", ""},
		{"/strange", 500, "", "the reason is in the log of the service, at msgId "},
	}
	for _, test := range tests {
		got := entrance.Get("/web.example" + test.path + "?q=1")
		head := entrance.Send("HEAD /web.example"+test.path+"?q=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
			http.MethodHead)
		if head.StatusCode != test.status || head.ContentLength >= 0 && head.ContentLength != int64(len(got.Text)) {
			t.Errorf("%s: HEAD: status %d, Content-Length %d, that of GET is %d", test.path, head.StatusCode, head.ContentLength,
				len(got.Text))
		}
		if got.StatusCode != test.status || strings.Contains(got.Text, "secret") || got.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: status %d, want %d: %s", test.path, got.StatusCode, test.status, got.Text)
			continue
		}
		if test.text != "" {
			if got.Text != test.text {
				t.Errorf("%s: body %s, want %s", test.path, got.Text, test.text)
			}
			continue
		}
		problem := got.Problem(t)
		assert.Equal(t, "/web.example"+test.path, problem.Instance, test.path)
		assert.Contains(t, problem.Detail, test.detail, test.path)
		assert.Equal(t, "web.example", problem.Host, test.path)
		if test.status == 500 && (problem.MsgID == "" || !strings.HasSuffix(problem.Detail, problem.MsgID)) {
			t.Errorf("%s: %s: the detail does not name the msgId", test.path, got.Text)
		}
	}
	head := entrance.Send("HEAD /web.example/missing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HEAD")
	assert.Equal(t, http.StatusNotFound, head.StatusCode, "HEAD")
	assert.Empty(t, head.Text, "HEAD")
}

// TestDetails_ReachClients holds that the type and the details of an error arrive outside, also from a service that
// passes on the error of another.
func TestDetails_ReachClients(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("deep.example", 443, failing)
	conn := entrance.Bus.Connect("web.example")
	require.NoError(t, conn.Handle("GET", "/{path}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bus.WriteError(w, r, conn.Call(r.Context(), "GET https://deep.example"+r.URL.Path, nil, nil))
	})))
	for _, host := range []string{"deep.example", "web.example"} {
		got := entrance.Get("/" + host + "/sold-out")
		const want = `{"type":"https://shop.example/secret","title":"Conflict","status":409,"detail":"none left",`
		assert.Equal(t, http.StatusConflict, got.StatusCode, host)
		assert.True(t, strings.HasPrefix(got.Text, want), got.Text)
		assert.True(t, strings.HasSuffix(got.Text, `,"left":0,"sku":"secret"}`), got.Text)
		for _, path := range []string{"/broken-details", "/late-details"} {
			got := entrance.Get("/" + host + path)
			problem := got.Problem(t)
			assert.Equal(t, "about:blank", problem.Type, "%s%s", host, path)
			assert.NotContains(t, got.Text, "secret", "%s%s", host, path)
			assert.NotContains(t, got.Text, "left", "%s%s", host, path)
			assert.Equal(t, "deep.example", problem.Host, "%s%s", host, path)
		}
	}
}

func TestProblem_InstanceUnderAPrefix(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("web.example", 443, failing)
	for _, path := range []string{"/bus/web.example/missing", "/bus/web.example/é\"", "/bus/nobody.example/",
		"/bus/all/"} {
		w := httptest.NewRecorder()
		http.StripPrefix("/bus", entrance.Handler).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if w.Code == http.StatusOK {
			continue
		}
		want := strings.NewReplacer("é", "%C3%A9", `"`, "%22").Replace(path)
		if problem := (portaltest.Answer{Response: w.Result(), Text: w.Body.String()}).Problem(t); problem.Instance != want {
			t.Errorf("%s: instance %s, want %s", path, problem.Instance, want)
		}
	}
}

// TestRetryAfter holds that clients learn when to come again, also where the reason is withheld.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("throttle.example", 443, func(w http.ResponseWriter, r *http.Request) {
		status := map[string]int{"/limited": http.StatusTooManyRequests,
			"/broken": http.StatusInternalServerError}[r.URL.Path]
		bus.WriteError(w, r, &bus.Error{Status: status, Detail: "the password is secret", RetryAfter: 2 * time.Minute})
	})
	for path, status := range map[string]int{"/limited": http.StatusTooManyRequests,
		"/broken": http.StatusInternalServerError} {
		got := entrance.Get("/throttle.example" + path)
		assert.Equal(t, status, got.StatusCode, path)
		assert.Equal(t, "120", got.Header.Get("Retry-After"), path)
	}
}

// driver returns an error whose text is internal.
type driver struct{ why error }

func (d driver) Open() error {
	return fmt.Errorf("dialling postgres://shop:secret@db.internal: %w", d.why)
}

// TestProblem_HidesTextsWithoutAStatus calls services that fail with the text of some driver. Whatever status the bus
// makes of it, it does not leave through the ingress, not even by way of another service.
func TestProblem_HidesTextsWithoutAStatus(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		why    error
		detail string
	}{
		{504, context.DeadlineExceeded, "something took too long; the reason is in the log of the service, at msgId "},
		{503, context.Canceled, "the reason is in the log of the service, at msgId "},
		{500, io.EOF, "the reason is in the log of the service, at msgId "},
	} {
		entrance := portaltest.Open(t)
		require.NoError(t, bus.Serve(entrance.Bus.Connect("driver.example"), driver{test.why}))
		front := entrance.Bus.Connect("front.example")
		require.NoError(t, front.Handle("GET", "/open", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, fmt.Errorf("opening: %w", front.Call(r.Context(), "GET https://driver.example/open", nil, nil)))
		})))
		for _, path := range []string{"/driver.example/open", "/front.example/open"} {
			got := entrance.Get(path)
			problem := got.Problem(t)
			assert.Equal(t, test.status, got.StatusCode, path)
			assert.Equal(t, http.StatusText(test.status), problem.Title, path)
			assert.Equal(t, "driver.example", problem.Host, path)
			assert.NotEmpty(t, problem.MsgID, path)
			assert.Equal(t, test.detail+problem.MsgID, problem.Detail, path)
			assert.NotContains(t, got.Text, `"internal"`, path)
		}
	}
}

// TestProblem_HidesErrorsOfTheIngress uses an interceptor of its connection that fails.
func TestProblem_HidesErrorsOfTheIngress(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("ingress", bus.WithInterceptors(func(bus.CallFunc) bus.CallFunc {
		return func(context.Context, *bus.Exchange) error { return driver{context.DeadlineExceeded}.Open() }
	}))
	entrance, err := ingress.New(conn)
	require.NoError(t, err)
	w := httptest.NewRecorder()
	entrance.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/driver.example/open", http.NoBody))
	got := portaltest.Answer{Response: w.Result(), Text: w.Body.String()}
	problem := got.Problem(t)
	assert.Equal(t, 504, problem.Status)
	assert.Equal(t, "ingress", problem.Host)
	assert.Equal(t, "something took too long; the reason is in the log", problem.Detail)
	assert.NotContains(t, got.Text, `"internal"`)
}

// TestProblem_WithoutEnd has a service stream a problem that does not end: the client gets its beginning at once.
func TestProblem_WithoutEnd(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	arrived := make(chan struct{})
	defer close(arrived)
	begin := strings.Repeat("x", 100_000)
	entrance.Serve("flood.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, begin)
		_ = http.NewResponseController(w).Flush()
		<-arrived
	})
	response, err := http.Get(entrance.Server.URL + "/flood.example/")
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, http.StatusConflict, response.StatusCode)
	got := make([]byte, len(begin))
	_, err = io.ReadFull(response.Body, got)
	require.NoError(t, err)
	assert.Equal(t, begin, string(got))
}
