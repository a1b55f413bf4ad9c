package bus_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// faults are handlers that go wrong.
func faults() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/text":    func(http.ResponseWriter, *http.Request) { panic("boom") },
		"/error":   func(http.ResponseWriter, *http.Request) { panic(errors.New("boom")) },
		"/nothing": func(http.ResponseWriter, *http.Request) { panic(nil) }, //nolint:govet // that is what is tested
		"/pointer": func(_ http.ResponseWriter, r *http.Request) { _ = r.Response.Status },
		"/map":     func(_ http.ResponseWriter, r *http.Request) { r.Trailer["x"] = nil },
		"/index":   func(_ http.ResponseWriter, r *http.Request) { _ = r.URL.Path[len(r.URL.Path)] },
		"/closed":  func(http.ResponseWriter, *http.Request) { closed := make(chan int); close(closed); close(closed) },
		"/type":    func(_ http.ResponseWriter, r *http.Request) { _ = any(r).(error) },
		"/again": func(http.ResponseWriter, *http.Request) {
			defer func() { panic(recover()) }()
			panic("boom")
		},
	}
}

// TestPanicsEndTheirOwnCall has handlers panic in every way beside one that is at work, which does not hear of it.
func TestPanicsEndTheirOwnCall(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		callee, caller := w.connect("faults.example"), w.connect("caller.example")
		entered, leave, answered := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		all := faults()
		all["/work"] = func(http.ResponseWriter, *http.Request) { close(entered); <-leave }
		for path, handler := range all {
			if err := callee.Handle(http.MethodGet, path, handler); err != nil {
				t.Fatal(err)
			}
		}
		go func() { answered <- caller.Call(t.Context(), "GET https://faults.example/work", nil, nil) }()
		await(t, "the one that works", entered)
		for path := range faults() {
			err := caller.Call(t.Context(), "GET https://faults.example"+path, nil, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			if failed == nil || failed.Status != 500 || failed.Executed != bus.ExecutedYes || failed.ID != callee.ID() ||
				!strings.Contains(failed.Detail, "the handler panicked: ") || strings.Contains(failed.Detail, "goroutine") {
				t.Errorf("%s: %v", path, err)
			}
		}
		if running := callee.Stats().InFlight; running != 1 {
			t.Errorf("%d handlers run, want the one that works", running)
		}
		close(leave)
		if err := await(t, "its answer", answered); err != nil {
			t.Error(err)
		}
	})
}

// TestAbort has a handler end as those of net/http may, who are not logged there either: its caller is answered, and the log
// has a line for debugging.
func TestAbort(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		logged := new(lines)
		callee, caller := w.connect("faults.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel))), w.connect("caller.example")
		if err := callee.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("half"))
			panic(http.ErrAbortHandler)
		})); err != nil {
			t.Fatal(err)
		}
		err := caller.Call(t.Context(), "GET https://faults.example/", nil, nil)
		failed, _ := errors.AsType[*bus.Error](err)
		if failed == nil || failed.Status != 500 || failed.Executed != bus.ExecutedYes || failed.Detail != "the handler gave no answer: net/http: abort Handler" {
			t.Errorf("%v", err)
		}
		if line := logged.line(t, "request failed"); line["level"] != "debug" || line["status"] != 500.0 || line["detail"] != failed.Detail || line["stack"] != nil {
			t.Errorf("logged is %v", line)
		}
	})
}

// TestHandler_ThatWritesTooMuch sets the status twice, and writes once the answer has gone.
func TestHandler_ThatWritesTooMuch(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		callee, caller := w.connect("faults.example"), w.connect("caller.example")
		over, wrote := make(chan struct{}), make(chan error, 1)
		err := callee.Handle(http.MethodGet, "/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints) // passed over
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK)
			w.Header().Set("X-Late", "1")
			_, _ = w.Write([]byte("short"))
			go func() {
				<-over
				w.Header().Set("X-Late", "2")
				w.WriteHeader(http.StatusOK)
				_, err := w.Write([]byte(" and stout"))
				wrote <- err
			}()
		}))
		if err != nil {
			t.Fatal(err)
		}
		response, body := do(t, caller, http.MethodGet, "https://faults.example/", "", "")
		if response.StatusCode != http.StatusTeapot || body != "short" || response.Header.Get("X-Late") != "" {
			t.Errorf("%d %v %q", response.StatusCode, response.Header, body)
		}
		close(over)
		if err := await(t, "the late word", wrote); err != nil {
			t.Error(err)
		}
		if dropped := caller.Stats().Malformed + callee.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
	})
}
