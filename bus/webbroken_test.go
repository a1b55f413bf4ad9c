package bus_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// broken are handlers whose answers end before they are complete.
func broken(t *testing.T) map[string]http.Handler {
	t.Helper()
	cut := func(w io.Writer) { _, _ = w.Write([]byte("ten bytes.")) }
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/announced" {
			w.Header().Set("Content-Length", "1000")
		}
		cut(w)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(backend.Close)
	address, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	file := struct {
		io.Reader
		io.Seeker
	}{iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("content"))), strings.NewReader("content")}
	return map[string]http.Handler{
		"/announced": proxy,
		"/chunked":   proxy,
		"/file": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "file.txt", time.Time{}, file)
		}),
		"/short": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			cut(w)
		}),
		"/nothing": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1") }),
		"/long": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			cut(w)
		}),
	}
}

// TestAnAnswerThatEndsEarly holds that half an answer is never taken for a whole one, as it is not with net/http either.
func TestAnAnswerThatEndsEarly(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		logged := new(lines)
		conn := w.connect("web.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
		want := map[string]string{
			"/announced": "the handler gave no answer", "/chunked": "the handler gave no answer",
			"/file":    "the handler announced 7 bytes with Content-Length and wrote 1; write as many, or leave it out",
			"/short":   "announced 1000 bytes with Content-Length and wrote 10",
			"/nothing": "announced 1 bytes with Content-Length and wrote 0",
			"/long":    "announced 9 bytes with Content-Length and wrote 10",
		}
		for path, handler := range broken(t) {
			if err := conn.Handle("*", path, handler); err != nil {
				t.Fatal(err)
			}
			err := conn.Call(t.Context(), "GET https://web.example"+path, nil, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			if failed == nil || failed.Status != 500 || failed.Executed != bus.ExecutedYes || !strings.Contains(failed.Detail, want[path]) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if count := logged.count(`"level":"error"`); count != 4 {
			t.Errorf("%d errors are logged, want those of four lengths:\n%s", count, logged)
		}
	})
}

// TestLengthsThatDoNotCount holds that answers are sent whose Content-Length says nothing of their body, and that others arrive.
func TestLengthsThatDoNotCount(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("web.example")
		for path, handler := range map[string]http.HandlerFunc{
			"/exact":       func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "4"); body(w) },
			"/none":        func(w http.ResponseWriter, _ *http.Request) { body(w) },
			"/word":        func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "four"); body(w) },
			"/negative":    func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "-4"); body(w) },
			"/late":        func(w http.ResponseWriter, _ *http.Request) { body(w); w.Header().Set("Content-Length", "5") },
			"/nocontent":   status(http.StatusNoContent),
			"/notmodified": status(http.StatusNotModified),
			"/content": func(w http.ResponseWriter, r *http.Request) {
				http.ServeContent(w, r, "file.txt", time.Time{}, strings.NewReader("body"))
			},
		} {
			if err := conn.Handle("*", path, handler); err != nil {
				t.Fatal(err)
			}
			response, text := do(t, conn, http.MethodGet, "https://web.example"+path, "", "")
			if response.StatusCode >= 400 || text != "body" && path != "/nocontent" && path != "/notmodified" {
				t.Errorf("%s: %d %q", path, response.StatusCode, text)
			}
		}
	})
}

func body(w io.Writer) { _, _ = w.Write([]byte("body")) }

// status makes a handler that announces a body, and writes a status alone.
func status(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(status)
	}
}

// TestLengthOfHEAD asks as no connection of ours does, whose HEAD travels as GET: the length is that of the body which a GET gets.
func TestLengthOfHEAD(t *testing.T) {
	t.Parallel()
	w := &world{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	if err := w.connect("web.example").Handle("*", "/head", status(http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	response, text := newHostile(t, w).send("443.example.web.|.HEAD.head", request("HEAD /head HTTP/1.1", "web.example"))
	if response.StatusCode != http.StatusOK {
		t.Errorf("%d %s", response.StatusCode, text)
	}
}

// TestWrappersOfNetHTTP holds that what net/http has to wrap a handler works on the bus.
func TestWrappersOfNetHTTP(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("web.example")
		slow := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		limited := func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 3))
			if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
				http.Error(w, tooLarge.Error(), http.StatusRequestEntityTooLarge)
			}
		}
		server := func(w http.ResponseWriter, r *http.Request) {
			if _, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
				body(w)
			}
		}
		for path, test := range map[string]struct {
			handler http.Handler
			want    string
		}{
			"/slow":    {http.TimeoutHandler(http.HandlerFunc(slow), time.Millisecond, "too slow"), "503 too slow"},
			"/soon":    {http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { body(w) }), time.Hour, ""), "200 body"},
			"/limited": {http.HandlerFunc(limited), "413 http: request body too large\n"},
			"/server":  {http.HandlerFunc(server), "200 body"},
		} {
			if err := conn.Handle("*", path, test.handler); err != nil {
				t.Fatal(err)
			}
			response, text := do(t, conn, http.MethodPost, "https://web.example"+path, "text/plain", "body")
			if got := response.Status[:4] + text; got != test.want {
				t.Errorf("%s: %q, want %q", path, got, test.want)
			}
		}
	})
}

// TestAnAnswerAfterTheContextEnded holds that what a handler has written when its context ends is taken for a whole answer only if it is
// as long as announced, or has no body.
func TestAnAnswerAfterTheContextEnded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		conn, caller := b.connect("web.example"), b.connect("caller.example")
		for path, test := range map[string]struct {
			announce string
			status   int
			want     int
		}{
			"/half":      {"", http.StatusOK, 504},
			"/failed":    {"", http.StatusNotFound, 504},
			"/announced": {"10", http.StatusOK, 200},
			"/short":     {"1000", http.StatusOK, 504},
			"/nocontent": {"", http.StatusNoContent, 204},
		} {
			late := func(w http.ResponseWriter, r *http.Request) {
				if test.announce != "" {
					w.Header().Set("Content-Length", test.announce)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte("ten bytes."))
				<-r.Context().Done()
			}
			if err := conn.Handle("GET", path, http.HandlerFunc(late), bus.TimeBudget(time.Second)); err != nil {
				t.Fatal(err)
			}
			wantExecuted(t, path, caller, "https://web.example"+path, test.want)
		}
	})
}

// wantExecuted calls an address whose handler runs, and checks the status with which it is answered.
func wantExecuted(t *testing.T, what string, caller *bus.Conn, address string, status int) {
	t.Helper()
	err := caller.Call(t.Context(), "GET "+address, nil, nil)
	if got := bus.StatusOf(err); got != status && (status >= 400 || got >= 400) {
		t.Errorf("%s: %v, want status %d", what, err, status)
	}
	if failed, _ := errors.AsType[*bus.Error](err); failed != nil && failed.Executed != bus.ExecutedYes {
		t.Errorf("%s: executed: %s, want yes", what, failed.Executed)
	}
}

// TestAnAnswerAfterCloseGaveUp holds the same for a handler that Close does not wait for any longer.
func TestAnAnswerAfterCloseGaveUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		conn, caller := b.connect("web.example"), b.connect("caller.example")
		half := func(w http.ResponseWriter, r *http.Request) {
			body(w)
			<-r.Context().Done()
		}
		if err := conn.Handle("GET", "/half", http.HandlerFunc(half)); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_ = conn.Close(ctx) // it gives up on the handler
		})
		wantExecuted(t, "half", caller, "https://web.example/half", http.StatusServiceUnavailable)
	})
}
