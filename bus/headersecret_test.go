package bus_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// TestHeaders_AreNotLogged has calls fail that have secrets in their headers and bodies, in both directions, and broken
// messages that have them too: what is logged has none of them, nor has an error.
func TestHeaders_AreNotLogged(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		written := new(lines)
		loud := bus.WithLogger(zerolog.New(written).Level(zerolog.TraceLevel))
		callee, caller := w.connect("careless.example", loud, bus.WithMaxMessageBytes(64<<10)), w.connect("caller.example", loud)
		handlers := map[string]http.HandlerFunc{
			"/panic": func(http.ResponseWriter, *http.Request) { panic("boom") },
			"/fail":  func(w http.ResponseWriter, r *http.Request) { bus.WriteError(w, r, errors.New("failed")) },
			"/large": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("canary", 20_000))) },
			"/heads": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", strings.Repeat("canary", 20_000)) },
			"/odd":   func(w http.ResponseWriter, _ *http.Request) { w.Header()["Canary\r\n"] = []string{"canary\x00"} },
		}
		for path, handler := range handlers {
			err := callee.Handle(http.MethodGet, path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Set-Cookie", "session=canary")
				handler(w, r)
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
		serve(t, callee, calculator{}, bus.ExcludeMethods("Panic"))
		for _, path := range []string{"/panic", "/fail", "/large", "/heads", "/odd", "/add?x=canary", "/add?y=%zz", "/nothing"} {
			call := mustRequest(t, "https://careless.example"+path)
			call.Header.Set("Cookie", "session=canary")
			call.Header.Set("Authorization", "Basic canary")
			call.Header["X-Odd\n"] = []string{"canary\r\n"}
			response, err := caller.Do(call)
			if err == nil {
				_ = response.Body.Close()
			}
			_, _ = fmt.Fprintf(written, "%v %+v\n", err, err)
		}
		raw := rawClient(t, w)
		for _, line := range []string{"Cookie : canary", " canary", "canary", "Cookie: canary\x00", "Content-Length: 1\r\nCookie: canary", "Transfer-Encoding: canary"} {
			message := strings.ReplaceAll(request("GET /add HTTP/1.1", "careless.example", "Cookie: canary"), "\n", "\r\n")
			message = strings.TrimSuffix(message, "\r\n") + line + "\r\n\r\n"
			if err := raw.Publish(subject.Subscription(w.Plane(), "443", "careless.example", "GET", "add"), []byte(message)); err != nil {
				t.Fatal(err)
			}
		}
		flush(t, raw)
		closeConn(t, callee)
		text := written.String()
		if !strings.Contains(text, "handler panicked") || !strings.Contains(text, "boom") {
			t.Errorf("too little is written:\n%s", text)
		}
		if at := strings.Index(text, "canary"); at >= 0 {
			t.Errorf("a secret is written: …%.400s", text[max(0, at-200):])
		}
	})
}
