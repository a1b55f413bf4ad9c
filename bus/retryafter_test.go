package bus_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// throttle has a limit for each caller, and passes on what others say who have one.
type throttle struct{ conn *bus.Conn }

func (throttle) Refuse(milliseconds int) error {
	return &bus.Error{Status: http.StatusTooManyRequests, Detail: "too many calls", RetryAfter: time.Duration(milliseconds) * time.Millisecond}
}

func (s throttle) Relay(ctx context.Context, milliseconds int) error {
	err := s.conn.Call(ctx, "https://throttle.example/refuse", bus.Args{"milliseconds": milliseconds}, nil)
	return fmt.Errorf("relayed: %w", err)
}

func (throttle) Busy() error {
	return &bus.Error{Status: http.StatusServiceUnavailable, Host: "other.example", Executed: bus.ExecutedNo, RetryAfter: time.Second}
}

// TestBusyCallee holds that a handler which has run does not ask to be called again because somebody else had no time.
func TestBusyCallee(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("throttle.example")
		serve(t, conn, throttle{conn})
		if err := conn.Handle("GET", "/passed", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, throttle{}.Busy())
		})); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/busy", "/passed"} {
			failed := asBusError(t, conn.Call(t.Context(), "GET https://throttle.example"+path, nil, nil))
			if failed.Status != 503 || failed.RetryAfter != 0 || failed.Executed != bus.ExecutedYes {
				t.Errorf("%s: %v, after %s, executed %s", path, failed, failed.RetryAfter, failed.Executed)
			}
		}
	})
}

// TestRetryAfter holds that a service can say when to come again, and that it is heard at the far end of a chain of calls,
// in whole seconds.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("throttle.example")
		serve(t, conn, throttle{conn})
		if err := conn.Handle("GET", "/handled/{said}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", r.PathValue("said"))
			w.WriteHeader(http.StatusTooManyRequests)
		})); err != nil {
			t.Fatal(err)
		}
		if err := conn.Handle("GET", "/passed/{said}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, conn.Call(r.Context(), "GET https://throttle.example/handled/"+r.PathValue("said"), nil, nil))
		})); err != nil {
			t.Fatal(err)
		}
		caller := w.connect("caller.example")
		for target, want := range map[string]time.Duration{
			"/refuse?milliseconds=120000": 2 * time.Minute,
			"/refuse?milliseconds=1001":   2 * time.Second,
			"/refuse?milliseconds=1":      time.Second,
			"/refuse?milliseconds=0":      0,
			"/refuse?milliseconds=-1000":  0,
			"/relay?milliseconds=120000":  2 * time.Minute,
			"/relay?milliseconds=1500":    2 * time.Second,
			"/handled/120":                2 * time.Minute,
			"/passed/120":                 2 * time.Minute,
			"/passed/0":                   0,
			"/passed/-1":                  0,
			"/passed/1.5":                 0,
			"/passed/99999999999":         0,
			"/passed/Wed,%2021%20Oct%202099%2007:28:00%20GMT": 0,
		} {
			failed := asBusError(t, caller.Call(t.Context(), "GET https://throttle.example"+target, nil, nil))
			if failed.Status != http.StatusTooManyRequests || failed.RetryAfter != want {
				t.Errorf("%s: %v, after %s, want %s", target, failed, failed.RetryAfter, want)
			}
			said, written := "", httptest.NewRecorder()
			if want > 0 {
				said = fmt.Sprint(int(want / time.Second))
			}
			bus.WriteError(written, httptest.NewRequest(http.MethodGet, "/", nil), failed)
			if got := written.Header().Get("Retry-After"); got != said {
				t.Errorf("%s: passed on as %q, want %q", target, got, said)
			}
		}
	})
}
