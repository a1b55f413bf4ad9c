package portal_test

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

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
)

func TestCall_NoInstance(t *testing.T) {
	t.Parallel()
	door := open(t)
	got := door.get("/nobody.example/x%20y?q=1")
	told := got.problem(t)
	if told.Status != http.StatusServiceUnavailable || told.Instance != "/nobody.example/x%20y" || told.Host != "ingress" {
		t.Errorf("%+v, want status 503 from the ingress for /nobody.example/x%%20y", told)
	}
	if told.Detail != "no instance serves nobody.example on port 443" {
		t.Errorf("detail %q", told.Detail)
	}
}

func TestNotServed(t *testing.T) {
	t.Parallel()
	door := open(t)
	if err := door.bus.Connect("calculator.example").Handle("POST", "/add", http.HandlerFunc(echo)); err != nil {
		t.Fatal(err)
	}
	got := door.get("/calculator.example/subtract")
	if told := got.problem(t); told.Status != http.StatusNotFound || told.Instance != "/calculator.example/subtract" {
		t.Errorf("wrong path: %+v", told)
	}
	got = door.get("/calculator.example:443/add")
	if told := got.problem(t); told.Status != http.StatusMethodNotAllowed || told.Instance != "/calculator.example:443/add" {
		t.Errorf("wrong method: %+v", told)
	}
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
		write(409, "application/problem+json; charset=utf-8", `{"status":409,"extra":[1,2],"instance":"/theirs","host":"deep.example","title":"Conflict"}`)
	case "/bare":
		write(409, "application/problem+json", `{"status":409}`)
	case "/garbage":
		write(409, "application/problem+json", `{"status":409,`)
	case "/array":
		write(409, "application/problem+json", `[409]`)
	case "/broken-garbage":
		write(500, "application/problem+json", `the password is secret`)
	case "/broken-foreign":
		write(500, "application/problem+json", `{"type":"https://secret.example/","title":"the password is secret","status":500,"stack":["secret"],`+
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
		write(504, "application/problem+json", `{"type":"about:blank","title":"secret","status":504,"detail":"secret","internal":true,"host":"deep.example","id":"a1","msgId":"m1"}`)
	case "/text":
		write(500, "text/plain", `sorry`)
	case "/strange":
		write(999, "text/plain", `strange`)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("web.example", 443, failing)
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
		{"/late-foreign", 504, `{"type":"about:blank","status":504,"host":"deep.example","id":"a1","msgId":"m1","title":"Gateway Timeout",` +
			`"instance":"/web.example/late-foreign","detail":"something took too long; the reason is in the log of the service, at msgId m1"}`, ""},
		{"/panic", 500, "", "the reason is in the log of the service, at msgId "},
		{"/foreign", 409, `{"status":409,"extra":[1,2],"instance":"/web.example/foreign","host":"deep.example","title":"Conflict"}`, ""},
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
		got := door.get("/web.example" + test.path + "?q=1")
		head := door.send("HEAD /web.example"+test.path+"?q=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", http.MethodHead)
		if head.StatusCode != test.status || head.ContentLength >= 0 && head.ContentLength != int64(len(got.text)) {
			t.Errorf("%s: HEAD: status %d, Content-Length %d, that of GET is %d", test.path, head.StatusCode, head.ContentLength, len(got.text))
		}
		if got.StatusCode != test.status || strings.Contains(got.text, "secret") || got.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: status %d, want %d: %s", test.path, got.StatusCode, test.status, got.text)
			continue
		}
		if test.text != "" {
			if got.text != test.text {
				t.Errorf("%s: body %s, want %s", test.path, got.text, test.text)
			}
			continue
		}
		told := got.problem(t)
		if told.Instance != "/web.example"+test.path || !strings.Contains(told.Detail, test.detail) || told.Host != "web.example" {
			t.Errorf("%s: %s, want the detail %q", test.path, got.text, test.detail)
		}
		if test.status == 500 && (told.MsgID == "" || !strings.HasSuffix(told.Detail, told.MsgID)) {
			t.Errorf("%s: %s: the detail does not name the msgId", test.path, got.text)
		}
	}
	head := door.send("HEAD /web.example/missing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HEAD")
	if head.StatusCode != http.StatusNotFound || head.text != "" {
		t.Errorf("HEAD: status %d: %s", head.StatusCode, head.text)
	}
}

// TestDetails_ReachClients holds that the type and the details of an error arrive outside, also from a service that passes on the
// error of another.
func TestDetails_ReachClients(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("deep.example", 443, failing)
	conn := door.bus.Connect("web.example")
	if err := conn.Handle("GET", "/{path}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bus.WriteError(w, r, conn.Call(r.Context(), "GET https://deep.example"+r.URL.Path, nil, nil))
	})); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"deep.example", "web.example"} {
		got := door.get("/" + host + "/sold-out")
		const want = `{"type":"https://shop.example/secret","title":"Conflict","status":409,"detail":"none left",`
		if got.StatusCode != http.StatusConflict || !strings.HasPrefix(got.text, want) || !strings.HasSuffix(got.text, `,"left":0,"sku":"secret"}`) {
			t.Errorf("%s: %d %s", host, got.StatusCode, got.text)
		}
		for _, path := range []string{"/broken-details", "/late-details"} {
			got := door.get("/" + host + path)
			if told := got.problem(t); told.Type != "about:blank" || strings.Contains(got.text, "secret") || strings.Contains(got.text, "left") || told.Host != "deep.example" {
				t.Errorf("%s%s: %s", host, path, got.text)
			}
		}
	}
}

func TestInstanceUnderPrefix(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("web.example", 443, failing)
	for _, path := range []string{"/bus/web.example/missing", "/bus/web.example/é\"", "/bus/nobody.example/", "/bus/all/"} {
		w := httptest.NewRecorder()
		http.StripPrefix("/bus", door.ingress).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if w.Code == http.StatusOK {
			continue
		}
		want := strings.NewReplacer("é", "%C3%A9", `"`, "%22").Replace(path)
		if told := (answer{w.Result(), w.Body.String()}).problem(t); told.Instance != want {
			t.Errorf("%s: instance %s, want %s", path, told.Instance, want)
		}
	}
}

// TestRetryAfter holds that clients are told when to come again, also where the reason is withheld.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("throttle.example", 443, func(w http.ResponseWriter, r *http.Request) {
		status := map[string]int{"/limited": http.StatusTooManyRequests, "/broken": http.StatusInternalServerError}[r.URL.Path]
		bus.WriteError(w, r, &bus.Error{Status: status, Detail: "the password is secret", RetryAfter: 2 * time.Minute})
	})
	for path, status := range map[string]int{"/limited": http.StatusTooManyRequests, "/broken": http.StatusInternalServerError} {
		if got := door.get("/throttle.example" + path); got.StatusCode != status || got.Header.Get("Retry-After") != "120" {
			t.Errorf("%s: status %d, Retry-After %q", path, got.StatusCode, got.Header.Get("Retry-After"))
		}
	}
}

// driver returns an error whose text is internal.
type driver struct{ why error }

func (d driver) Open() error {
	return fmt.Errorf("dialling postgres://shop:secret@db.internal: %w", d.why)
}

// TestATextWithoutAStatusStaysInside has services fail with the text of some driver. Whatever status the bus makes of it, it
// does not leave through the ingress, not even by way of another service.
func TestATextWithoutAStatusStaysInside(t *testing.T) {
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
		door := open(t)
		if err := bus.Serve(door.bus.Connect("driver.example"), driver{test.why}); err != nil {
			t.Fatal(err)
		}
		front := door.bus.Connect("front.example")
		if err := front.Handle("GET", "/open", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, fmt.Errorf("opening: %w", front.Call(r.Context(), "GET https://driver.example/open", nil, nil)))
		})); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/driver.example/open", "/front.example/open"} {
			got := door.get(path)
			told := got.problem(t)
			if got.StatusCode != test.status || told.Title != http.StatusText(test.status) || told.Host != "driver.example" || told.MsgID == "" ||
				told.Detail != test.detail+told.MsgID || strings.Contains(got.text, `"internal"`) {
				t.Errorf("%s: %d: %s", path, got.StatusCode, got.text)
			}
		}
	}
}

// TestAFaultOfTheIngressStaysInside has an interceptor of its connection fail.
func TestAFaultOfTheIngressStaysInside(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("ingress", bus.WithInterceptors(func(bus.CallFunc) bus.CallFunc {
		return func(context.Context, *bus.Exchange) error { return driver{context.DeadlineExceeded}.Open() }
	}))
	ingress, err := portal.NewIngress(conn)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	ingress.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/driver.example/open", http.NoBody))
	got := answer{w.Result(), w.Body.String()}
	if told := got.problem(t); told.Status != 504 || told.Host != "ingress" || told.Detail != "something took too long; the reason is in the log" || strings.Contains(got.text, `"internal"`) {
		t.Error(got.text)
	}
}

// TestAPlaceThatIsLeftOutKeepsItsReason has the portal itself fail to fetch a document, with a text that is not for its
// readers.
func TestAPlaceThatIsLeftOutKeepsItsReason(t *testing.T) {
	t.Parallel()
	door := open(t)
	conn := door.bus.Connect("portal", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, x *bus.Exchange) error {
			if x.Side == bus.ClientSide && x.Host == "calculator.example" {
				return driver{io.EOF}.Open()
			}
			return next(ctx, x)
		}
	}))
	if err := portal.Register(conn, patient()...); err != nil {
		t.Fatal(err)
	}
	door.calculate("calculator.example")
	for _, path := range []string{"/portal/openapi.json", "/portal/live.json"} {
		text := door.get(path).text
		if !strings.Contains(text, "calculator.example:443 is left out: the reason is in the log") || strings.Contains(text, "postgres") {
			t.Errorf("%s: %s", path, text)
		}
	}
}
