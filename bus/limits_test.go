package bus_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// echo answers with what it was sent.
type echo struct{}

func (echo) Echo(text string) (same string) { return text }

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("echo.example")
		serve(t, conn, echo{}, bus.MaxBodyBytes(100))
		err := conn.Handle("POST", "/web", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), bus.MaxBodyBytes(200))
		if err != nil {
			t.Fatal(err)
		}
		for path, limit := range map[string]int{"/echo": 100, "/web": 200} {
			for _, size := range []int{limit, limit + 1} {
				body := `{"text":"` + strings.Repeat("a", size-len(`{"text":""}`)) + `"}`
				response, told := do(t, conn, "POST", "https://echo.example"+path, "application/json", body)
				want := http.StatusOK
				if size > limit {
					want = http.StatusRequestEntityTooLarge
				}
				if response.StatusCode != want {
					t.Errorf("%s with %d bytes: %d %s", path, size, response.StatusCode, told)
				}
				if want != 200 && !strings.Contains(told, fmt.Sprintf("limit of %d", limit)) {
					t.Errorf("%s: %s", path, told)
				}
			}
		}
	})
}

// TestMaxPayload sends what takes more than one message of the broker, in both directions.
func TestMaxPayload(t *testing.T) {
	t.Parallel()
	for name, transport := range transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const payload = 4096
			w := transport(newBus(t, broker.MaxPayload(payload)))
			callee, caller := w.connect("echo.example"), w.connect("caller.example")
			serve(t, callee, echo{})
			for _, size := range []int{0, 1, payload - 1, payload, payload + 1, 2 * payload, 10 * payload, 100 * payload} {
				text := strings.Repeat("abcdefg", size/7+1)[:size]
				var out struct{ Same string }
				if err := caller.Call(t.Context(), "https://echo.example/echo", bus.Args{"text": text}, &out); err != nil || out.Same != text {
					t.Errorf("%d bytes come back as %d: %v", size, len(out.Same), err)
				}
			}
			if dropped, strangers := callee.Stats().Malformed+caller.Stats().Malformed, caller.PendingCalls(); dropped != 0 || strangers != 0 {
				t.Errorf("%d messages were dropped, %d calls are pending", dropped, strangers)
			}
		})
	}
}

func TestWebHandlerFaults(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("web.example")
		handlers := map[string]http.HandlerFunc{
			"/status0":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(0) },
			"/status99": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(99) },
			"/status1k": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(1000) },
			"/abort":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"/halfway": func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte("half"))
				panic("boom")
			},
			"/nil": func(_ http.ResponseWriter, r *http.Request) { _ = r.Response.Status },
		}
		for path, handler := range handlers {
			if err := conn.Handle("GET", path, handler); err != nil {
				t.Fatal(err)
			}
			response, body := do(t, conn, "GET", "https://web.example"+path, "", "")
			if response.StatusCode != 500 || !strings.Contains(body, `"status":500`) || strings.Contains(body, "half\"") {
				t.Errorf("%s: %d %s", path, response.StatusCode, body)
			}
		}
	})
}

// TestLargeHeads sends heads around what fits, in both directions.
func TestLargeHeads(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("web.example")
		err := conn.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Size", strconv.Itoa(len(r.Header.Get("X-A"))+len(r.Header.Get("X-B"))))
			if r.URL.Query().Has("fields") {
				for i := range 300 {
					w.Header().Set("X-Field-"+strconv.Itoa(i), "1")
				}
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{100, 30_000, 33_000, 36_000, 39_000} {
			request := mustRequest(t, "https://web.example/?"+strings.Repeat("q", 2000))
			request.Header.Set("X-A", strings.Repeat("a", size))
			request.Header.Set("X-B", strings.Repeat("b", size))
			response, err := conn.Do(request)
			if size < 39_000 {
				if err != nil || response.Header.Get("X-Size") != strconv.Itoa(2*size) {
					t.Errorf("two fields of %d bytes: %v %v", size, response, err)
				}
				continue
			}
			if failed, _ := errors.AsType[*bus.Error](err); failed == nil || failed.Status != 431 || failed.Executed != bus.ExecutedNo {
				t.Errorf("two fields of %d bytes: %v", size, err)
			}
		}
		response, body := do(t, conn, "GET", "https://web.example/?fields", "", "")
		if response.StatusCode != 500 || !strings.Contains(body, "the response cannot be sent") {
			t.Errorf("300 fields: %d %s", response.StatusCode, body)
		}
	})
}

func TestServe_ErrorTellsWhoFailed(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("web.example")
		err := conn.Handle("GET", "/x", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, bus.Errorf(http.StatusNotFound, "no such thing"))
		}))
		if err != nil {
			t.Fatal(err)
		}
		err = conn.Call(t.Context(), "GET https://web.example/x", nil, nil)
		failed, _ := errors.AsType[*bus.Error](err)
		if failed == nil || failed.Status != 404 || failed.Detail != "no such thing" || failed.Path != "/x" || failed.ID != conn.ID() || failed.MsgID == "" {
			t.Errorf("%+v", failed)
		}
	})
}

func TestHeaders_CannotInjectAnything(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("web.example")
		err := conn.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			header := w.Header()
			header["X-Value"] = []string{"a\r\nX-Injected: 1\r\n\r\nbody"}
			header["X-Name\r\nX-Injected"] = []string{"1"}
			header["Bus-Msg-Id"] = []string{"forged"}
			header["Bus-Secret"] = []string{"forged"}
			header["Connection"] = []string{"keep-alive, X-Hop"}
			header["X-Hop"] = []string{"goes no further"}
			header["X-Seen"] = []string{fmt.Sprintf("%q", r.Header["X-Value"])}
		}))
		if err != nil {
			t.Fatal(err)
		}
		request := mustRequest(t, "https://web.example/")
		request.Header["X-Value"] = []string{"a\r\nX-Injected: 1"}
		request.Header["Bus-From-Host"] = []string{"forged.example"}
		response, err := conn.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		header := response.Header
		if header.Get("X-Value") != "a  X-Injected: 1    body" || header.Get("X-Seen") != `["a  X-Injected: 1"]` {
			t.Errorf("values: %q", header)
		}
		if header.Get("X-Injected") != "" || header.Get("Bus-Secret") != "" || header.Get("Bus-Msg-Id") == "forged" || header.Get("Connection") != "" || header.Get("X-Hop") != "" {
			t.Errorf("injected: %q", header)
		}
	})
}
