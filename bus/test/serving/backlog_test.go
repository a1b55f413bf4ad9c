package serving_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// gathering holds its callers until all have come.
type gathering struct{ all *sync.WaitGroup }

func (g gathering) Come() {
	g.all.Done()
	g.all.Wait()
}

// TestHandlers_ThatWaitAreAllStarted makes calls of which none ends before all are handled at the same time.
func TestHandlers_ThatWaitAreAllStarted(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		const calls = 500
		all := new(sync.WaitGroup)
		all.Add(calls)
		callee := b.Connect("gathering.example")
		kit.Serve(t, callee, gathering{all})
		caller := b.Connect("caller.example")
		var calling sync.WaitGroup
		for range calls {
			calling.Go(func() {
				assert.NoError(t, caller.Call(t.Context(), "https://gathering.example/come", nil, nil))
			})
		}
		calling.Wait()
		synctest.Wait()
		if left := callee.Stats().InFlight; left != 0 {
			t.Errorf("%d handlers are left", left)
		}
	})
}

// TestQueue_FreesASlotBeforeTheResponse makes calls one after the other to a service that handles one at a time: who
// has an answer, of whatever kind, is never told that the service is busy with the call before.
func TestQueue_FreesASlotBeforeTheResponse(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect(kit.CalculatorHost, bus.WithMaxHandlers(1)), w.Connect("caller.example")
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.NoQueue()))
		err := callee.Handle("GET", "/web", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}))
		require.NoError(t, err)
		for _, test := range []struct {
			times, status int
			address       string
		}{
			{900, 200, "/add"},
			{500, 200, "/web"},
			{200, 422, "/divide"},
			{200, 400, "/add?x=five"},
			{100, 500, "/broken"},
			{50, 500, "/panic"},
			{50, 500, "/exit"},
		} {
			for i := range test.times {
				err := caller.Call(t.Context(), "GET "+kit.CalculatorURL+test.address, nil, nil)
				if bus.StatusOf(err) != test.status {
					t.Fatalf("call %d of %s: %v", i, test.address, err)
				}
			}
		}
		if running := callee.Stats().InFlight; running != 0 {
			t.Errorf("%d handlers run, and none should", running)
		}
	})
}

// TestQueue_FreesASlotBeforeAMulticastResponse does so with multicasts.
func TestQueue_FreesASlotBeforeAMulticastResponse(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect(kit.CalculatorHost, bus.WithMaxHandlers(1)), w.Connect("caller.example")
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.NoQueue()))
		for range 300 {
			for response, err := range caller.Multicast(kit.MustRequest(t,
				"https://"+callee.ID()+"."+kit.CalculatorHost+"/who")) {
				require.NoError(t, err)
				require.Equal(t, 200, response.StatusCode)
			}
		}
	})
}

// TestQueue_FreesASlotBeforeTheResponseIsSent looks at the very bytes: a response as long as this one is written to the
// broker by the handler itself.
func TestQueue_FreesASlotBeforeTheResponseIsSent(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller, watch := w.Connect("caller.example"), &kit.WatchedBroker{InProcessConnProvider: w.Broker()}
	callee := w.Connect("large.example", bus.WithMaxHandlers(1), bus.WithBroker(watch))
	err := callee.Handle("GET", "/large", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 256<<10))
	}))
	require.NoError(t, err)
	var working, looked atomic.Int64
	look := func(written []byte) {
		if bytes.Contains(written, []byte("\r\nContent-Length: 262144\r\n")) {
			looked.Add(1)
			working.Add(int64(callee.Stats().InFlight))
		}
	}
	watch.Look.Store(&look)
	kit.Do(t, caller, "GET", "https://large.example/large", "", "")
	assert.Equal(t, int64(1), looked.Load())
	assert.Zero(t, working.Load())
}

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("echo.example")
		kit.Serve(t, conn, kit.Echo{}, bus.MaxBodyBytes(100))
		err := conn.Handle("POST", "/web", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
			bus.MaxBodyBytes(200))
		require.NoError(t, err)
		for path, limit := range map[string]int{"/echo": 100, "/web": 200} {
			for _, size := range []int{limit, limit + 1} {
				body := `{"text":"` + strings.Repeat("a", size-len(`{"text":""}`)) + `"}`
				response, told := kit.Do(t, conn, "POST", "https://echo.example"+path, "application/json", body)
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

func TestHandle_MisbehavingHandlers(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
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
			require.NoError(t, conn.Handle("GET", path, handler))
			response, body := kit.Do(t, conn, "GET", "https://web.example"+path, "", "")
			assert.Equal(t, 500, response.StatusCode, path)
			assert.Contains(t, body, `"status":500`, path)
			assert.NotContains(t, body, "half\"", path)
		}
	})
}

// TestLargeHeads sends heads around what fits, in both directions.
func TestLargeHeads(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		err := conn.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Size", strconv.Itoa(len(r.Header.Get("X-A"))+len(r.Header.Get("X-B"))))
			if r.URL.Query().Has("fields") {
				for i := range 300 {
					w.Header().Set("X-Field-"+strconv.Itoa(i), "1")
				}
			}
		}))
		require.NoError(t, err)
		for _, size := range []int{100, 30_000, 33_000, 36_000, 39_000} {
			request := kit.MustRequest(t, "https://web.example/?"+strings.Repeat("q", 2000))
			request.Header.Set("X-A", strings.Repeat("a", size))
			request.Header.Set("X-B", strings.Repeat("b", size))
			response, err := conn.Do(request)
			if size < 39_000 {
				require.NoError(t, err, "two fields of %d bytes", size)
				assert.Equal(t, strconv.Itoa(2*size), response.Header.Get("X-Size"), "two fields of %d bytes", size)
				continue
			}
			kit.CheckError(t, err, 431, bus.ExecutedNo)
		}
		response, body := kit.Do(t, conn, "GET", "https://web.example/?fields", "", "")
		assert.Equal(t, 500, response.StatusCode, "300 fields")
		assert.Contains(t, body, "the response cannot be sent", "300 fields")
	})
}

func TestServe_ErrorNamesTheService(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		err := conn.Handle("GET", "/x", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, bus.Errorf(http.StatusNotFound, "no such thing"))
		}))
		require.NoError(t, err)
		err = conn.Call(t.Context(), "GET https://web.example/x", nil, nil)
		failed, _ := errors.AsType[*bus.Error](err)
		require.NotNil(t, failed)
		assert.Equal(t, 404, failed.Status)
		assert.Equal(t, "no such thing", failed.Detail)
		assert.Equal(t, "/x", failed.Path)
		assert.Equal(t, conn.ID(), failed.ID)
		assert.NotEmpty(t, failed.MsgID)
	})
}

func TestHeaders_CannotInjectAnything(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
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
		require.NoError(t, err)
		request := kit.MustRequest(t, "https://web.example/")
		request.Header["X-Value"] = []string{"a\r\nX-Injected: 1"}
		request.Header["Bus-From-Host"] = []string{"forged.example"}
		response, err := conn.Do(request)
		require.NoError(t, err)
		_ = response.Body.Close()
		header := response.Header
		assert.Equal(t, "a  X-Injected: 1    body", header.Get("X-Value"), "values")
		assert.Equal(t, `["a  X-Injected: 1"]`, header.Get("X-Seen"), "values")
		assert.Empty(t, header.Get("X-Injected"), "injected")
		assert.Empty(t, header.Get("Bus-Secret"), "injected")
		assert.NotEqual(t, "forged", header.Get("Bus-Msg-Id"), "injected")
		assert.Empty(t, header.Get("Connection"), "injected")
		assert.Empty(t, header.Get("X-Hop"), "injected")
	})
}
