package bus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestTryAgain holds that the interceptor of the guide calls an instance again that had no room, after the time that it
// asked for, and one that has failed by itself not at all.
func TestTryAgain(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		seen := new(kit.Notes)
		callee := b.Connect(kit.CalculatorHost, bus.WithMaxHandlers(1))
		answer := func(path string, status int, wait time.Duration) {
			if err := callee.Handle("GET", path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				seen.Addf("%s", path)
				time.Sleep(wait)
				w.WriteHeader(status)
			})); err != nil {
				t.Fatal(err)
			}
		}
		answer("/hold", http.StatusNoContent, time.Second/2)
		answer("/add", http.StatusNoContent, 0)
		answer("/missing", http.StatusNotFound, 0)
		answer("/closed", http.StatusServiceUnavailable, 0)
		caller := b.Connect("caller.example", bus.WithInterceptors(tryAgain))
		get := func(path string) int {
			return bus.StatusOf(caller.Call(t.Context(), "GET "+kit.CalculatorURL+path, nil, nil))
		}
		go get("/hold")
		synctest.Wait()
		began := time.Now()
		status, took := get("/add"), time.Since(began)
		assert.Equal(t, 200, status, "a call of a busy instance")
		assert.Equal(t, time.Second, took, "a call of a busy instance")
		for path, status := range map[string]int{"/missing": 404, "/closed": 503, "/nothing": 404} {
			if got := get(path); got != status {
				t.Errorf("%s: %d", path, got)
			}
		}
		got := seen.All()
		slices.Sort(got)
		if want := []string{"/add", "/closed", "/hold", "/missing"}; !slices.Equal(got, want) {
			t.Errorf("run were %q, want %q", got, want)
		}
	})
}

// TestFailure_IsWhatTheCallerGets holds what interceptors on both sides see of a call that fails: what its caller does.
func TestFailure_IsWhatTheCallerGets(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		var seen []*bus.Error // of one call at a time
		look := func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				err := next(ctx, call)
				seen = append(seen, call.Failure(err))
				return err
			}
		}
		refuse := func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				if call.Path == "/refused" && call.Side == bus.ClientSide {
					return bus.Errorf(http.StatusTooManyRequests, "not so fast")
				}
				return next(ctx, call)
			}
		}
		conn := w.Connect("shop.example", bus.WithInterceptors(look, refuse))
		kit.Serve(t, conn, merchant{conn})
		require.NoError(t, conn.Handle("GET", "/teapot", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
		})))
		for path, test := range map[string]struct {
			status   int
			kind     string
			executed bus.Executed
			sides    int
		}{
			"/order?why=sold+out": {409, soldOut, bus.ExecutedYes, 2},
			"/order?why=internal": {500, soldOut, bus.ExecutedYes, 2},
			"/relay?hops=x":       {400, "", bus.ExecutedNo, 2},
			"/teapot":             {418, "", bus.ExecutedYes, 2},
			"/refused":            {429, "", bus.ExecutedNo, 1},
			"/nothing":            {404, "", bus.ExecutedNo, 1},
		} {
			seen = nil
			failed := kit.AsBusError(t, conn.Call(t.Context(), "GET https://shop.example"+path, nil, nil))
			for _, each := range append(seen, failed) {
				require.NotNil(t, each, path)
				assert.Equal(t, test.status, each.Status, path)
				assert.Equal(t, test.kind, each.Type, path)
				assert.Equal(t, test.executed, each.Executed, path)
				assert.Equal(t, failed.Detail, each.Detail, path)
			}
			if len(seen) != test.sides {
				t.Errorf("%s: seen by %d", path, len(seen))
			}
		}
		seen = nil
		err := conn.Call(t.Context(), "POST https://shop.example/openapi.json", nil, nil)
		assert.Equal(t, 405, bus.StatusOf(err))
		assert.Len(t, seen, 1)
		seen = nil
		err = conn.Call(t.Context(), "GET https://shop.example/openapi.json", nil, nil)
		require.NoError(t, err)
		require.Len(t, seen, 2)
		assert.Nil(t, seen[0])
		assert.Nil(t, seen[1])
	})
}

// TestFailure_OfInventedExchanges as tests of interceptors have them.
func TestFailure_OfInventedExchanges(t *testing.T) {
	t.Parallel()
	refused := bus.Errorf(http.StatusConflict, "no")
	for _, test := range []struct {
		name   string
		call   bus.Exchange
		err    error
		status int
	}{
		{"nothing", bus.Exchange{}, nil, 0},
		{"a response", bus.Exchange{Response: &wire.Response{Status: 399}}, nil, 0},
		{"a failure", bus.Exchange{Response: &wire.Response{Status: 400}}, nil, 400},
		{"an error", bus.Exchange{}, refused, 409},
		{"both", bus.Exchange{Response: &wire.Response{Status: 404}}, refused, 409},
		{"of no status", bus.Exchange{}, errors.New("disk full"), 500},
		{"a multicast", bus.Exchange{Multicast: true, Answers: 2}, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			failed := test.call.Failure(test.err)
			if test.status == 0 && failed != nil || test.status != 0 && (failed == nil || failed.Status != test.status) {
				t.Errorf("%v", failed)
			}
			if test.err == refused && failed.Executed != bus.ExecutedYes { //nolint:errorlint // this very error
				t.Errorf("executed %s", failed.Executed)
			}
		})
	}
}

func TestFailure_OfSuccessAllocatesNothing(t *testing.T) { //nolint:paralleltest // counts the allocations of the whole process
	call := &bus.Exchange{Response: &wire.Response{Status: http.StatusOK}}
	if got := leastAllocations(func() {
		if call.Failure(nil) != nil {
			t.Error("it has failed")
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// failing fails as a function, and as a web method in each way that there is.
type failing struct{ conn *bus.Conn }

// whatFails says how each failure is answered and logged.
func whatFails() map[string]struct {
	err           error
	status        int
	detail, level string
} {
	return map[string]struct {
		err           error
		status        int
		detail, level string
	}{
		"error":    {errors.New("the disk is full"), 500, "the disk is full", "error"},
		"late":     {fmt.Errorf("asking the disk: %w", context.DeadlineExceeded), 504, "asking the disk: context deadline exceeded", "error"},
		"over":     {context.DeadlineExceeded, 504, "context deadline exceeded", "debug"},
		"missing":  {bus.Errorf(http.StatusNotFound, "no product 7"), 404, "no product 7", "debug"},
		"upstream": {bus.Errorf(http.StatusBadGateway, "no answer from the bank"), 502, "no answer from the bank", "debug"},
		"kind":     {bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "none left"), soldOut, precise), 409, "none left", "debug"},
	}
}

func (f failing) Function(ctx context.Context, why string) error { return f.err(ctx, why) }

func (f failing) Returned(_ http.ResponseWriter, r *http.Request) error {
	return f.err(r.Context(), r.URL.Query().Get("why"))
}

func (f failing) Written(w http.ResponseWriter, r *http.Request) {
	bus.WriteError(w, r, f.err(r.Context(), r.URL.Query().Get("why")))
}

// Proxied passes on the answer of another service byte for byte.
func (f failing) Proxied(w http.ResponseWriter, r *http.Request) error {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "https://far.example/function?"+r.URL.RawQuery, http.NoBody)
	if err != nil {
		return err
	}
	response, err := f.conn.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	_, err = io.Copy(w, response.Body)
	return err
}

func (f failing) err(ctx context.Context, why string) error {
	if f.conn != nil {
		return f.conn.Call(ctx, "https://far.example/function", bus.Args{"why": why}, nil)
	}
	return whatFails()[why].err
}

// TestFailure_LogLines holds that a failure is logged once, in the same way whether a function returns it or a web
// handler writes it, at first hand or passed on from another service.
func TestFailure_LogLines(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect("far.example"), failing{})
		for why := range whatFails() {
			for _, path := range []string{"function", "returned", "written"} {
				checkLineOfFailure(t, w, path, why, false)
				checkLineOfFailure(t, w, path, why, true)
			}
			checkLineOfFailure(t, w, "proxied", why, true)
		}
	})
}

func checkLineOfFailure(t *testing.T, w *kit.World, path, why string, passedOn bool) {
	t.Helper()
	logged, want := new(kit.Lines), whatFails()[why]
	conn := w.Connect("failing.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
	defer kit.CloseConn(t, conn)
	service := failing{}
	if passedOn {
		service.conn = conn
	}
	kit.Serve(t, conn, service)
	err := w.Connect("caller.example").Call(t.Context(), "GET https://failing.example/"+path+"?why="+why, nil, nil)
	failed, _ := errors.AsType[*bus.Error](err)
	require.NotNil(t, failed, "%s %s, passed on %t", path, why, passedOn)
	require.Equal(t, want.status, failed.Status, "%s %s, passed on %t", path, why, passedOn)
	line := logged.Line(t, "request failed")
	kind, _ := line["type"].(string)
	assert.Equal(t, want.level, line["level"], "%s %s, passed on %t", path, why, passedOn)
	assert.Equal(t, float64(want.status), line["status"], "%s %s, passed on %t", path, why, passedOn)
	assert.Equal(t, want.detail, line["detail"], "%s %s, passed on %t", path, why, passedOn)
	assert.Equal(t, failed.Type, kind, "%s %s, passed on %t", path, why, passedOn)
	if logged.Count("request served") != 0 {
		t.Errorf("%s %s, passed on %t: it is served and failed", path, why, passedOn)
	}
}

// TestFailure_LogLineOfACall holds that the caller's line tells what it was answered.
func TestFailure_LogLineOfACall(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		logged := new(kit.Lines)
		kit.Serve(t, w.Connect("far.example"), failing{})
		caller := w.Connect("caller.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
		_ = caller.Call(t.Context(), "https://far.example/function", bus.Args{"why": "kind"}, nil)
		line := logged.Line(t, "call failed")
		assert.Equal(t, 409.0, line["status"])
		assert.Equal(t, "none left", line["detail"])
		assert.Equal(t, soldOut, line["type"])
		assert.Equal(t, "debug", line["level"])
	})
}

// plain answers with a status, and says nothing of why.
type plain struct{}

func (plain) Function(status int) (httpStatusCode int) { return status }

func (plain) Web(w http.ResponseWriter, r *http.Request) {
	status := map[string]int{"500": 500, "503": 503, "404": 404}[r.URL.Query().Get("status")]
	http.Error(w, "a page", status)
}

// TestStatus_WithoutAReason holds that the log and the metrics of an answer agree if a handler gives a status alone.
func TestStatus_WithoutAReason(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for _, path := range []string{"function", "web"} {
			for status, level := range map[int]string{500: "error", 503: "debug", 404: "debug"} {
				logged := new(kit.Lines)
				conn := w.Connect("plain.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
				kit.Serve(t, conn, plain{})
				err := w.Connect("caller.example").Call(t.Context(), fmt.Sprintf("GET https://plain.example/%s?status=%d", path, status), nil, nil)
				if bus.StatusOf(err) != status {
					t.Fatalf("%s: %v", path, err)
				}
				line := logged.Line(t, "request failed")
				assert.Equal(t, level, line["level"], path)
				assert.Equal(t, float64(status), line["status"], path)
				assert.Nil(t, line["detail"], path)
				assert.Nil(t, line["type"], path)
				var failed, refused int64
				for _, served := range conn.Traffic().Served {
					failed, refused = failed+served.Failed, refused+served.Refused
				}
				isFailure := status >= 500
				assert.Equal(t, failed == 1, isFailure, "%s %d", path, status)
				assert.Equal(t, refused == 0, isFailure, "%s %d", path, status)
				kit.CloseConn(t, conn)
			}
		}
	})
}

// tooMuch answers with more than can be sent.
type tooMuch struct{}

func (tooMuch) Function() (text string) { return strings.Repeat("a", 64<<10) }

func (tooMuch) Web(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(tooMuch{}.Function() + "a"))
}

func (tooMuch) Fields(w http.ResponseWriter, _ *http.Request) {
	for i := range 300 {
		w.Header().Set(fmt.Sprintf("X-Field-%d", i), "1")
	}
}

// TestFailure_ResponseTooLarge holds that what cannot be sent is an error of its service: it counts as one, and its log
// says which limit it exceeds.
func TestFailure_ResponseTooLarge(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for path, want := range map[string]string{
			"function": "the response cannot be sent: a body of 65547 bytes exceeds the limit of 65536 for messages; see bus.WithMaxMessageBytes",
			"web":      "the response cannot be sent: a body of 65537 bytes exceeds the limit of 65536 for messages; see bus.WithMaxMessageBytes",
			"fields":   "the response cannot be sent: the head has 316 fields and about",
		} {
			logged := new(kit.Lines)
			conn := w.Connect("large.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)), bus.WithMaxMessageBytes(64<<10))
			kit.Serve(t, conn, tooMuch{})
			err := w.Connect("caller.example").Call(t.Context(), "GET https://large.example/"+path, nil, nil)
			kit.CheckError(t, err, 500, bus.ExecutedYes)
			failed := kit.AsBusError(t, err)
			if !strings.HasPrefix(failed.Detail, want) {
				t.Errorf("%s: %v", path, err)
			}
			line := logged.Line(t, "request failed")
			assert.Equal(t, "error", line["level"], path)
			assert.Equal(t, 500.0, line["status"], path)
			assert.Equal(t, failed.Detail, line["detail"], path)
			assert.Zero(t, logged.Count("request served"), path)
			var count int64
			for _, served := range conn.Traffic().Served {
				count += served.Failed
			}
			if count != 1 {
				t.Errorf("%s: %d requests have failed", path, count)
			}
			kit.CloseConn(t, conn)
		}
	})
}

// failingHandlers are handlers that go wrong.
func failingHandlers() map[string]http.HandlerFunc {
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

// TestFailure_PanicEndsItsOwnCall has handlers panic in every way beside one that is at work, which does not hear of
// it.
func TestFailure_PanicEndsItsOwnCall(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("failing.example"), w.Connect("caller.example")
		entered, leave, answered := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		all := failingHandlers()
		all["/work"] = func(http.ResponseWriter, *http.Request) { close(entered); <-leave }
		for path, handler := range all {
			require.NoError(t, callee.Handle(http.MethodGet, path, handler))
		}
		go func() { answered <- caller.Call(t.Context(), "GET https://failing.example/work", nil, nil) }()
		kit.Await(t, "the one that works", entered)
		for path := range failingHandlers() {
			err := caller.Call(t.Context(), "GET https://failing.example"+path, nil, nil)
			kit.CheckError(t, err, 500, bus.ExecutedYes)
			failed := kit.AsBusError(t, err)
			assert.Equal(t, callee.ID(), failed.ID, path)
			assert.Contains(t, failed.Detail, "the handler panicked: ", path)
			assert.NotContains(t, failed.Detail, "goroutine", path)
		}
		if running := callee.Stats().InFlight; running != 1 {
			t.Errorf("%d handlers run, want the one that works", running)
		}
		close(leave)
		assert.NoError(t, kit.Await(t, "its answer", answered))
	})
}

// TestAbort has a handler end as those of net/http may, who are not logged there either: its caller is answered, and
// the log has a line for debugging.
func TestAbort(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		logged := new(kit.Lines)
		callee, caller := w.Connect("failing.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel))), w.Connect("caller.example")
		require.NoError(t, callee.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("half"))
			panic(http.ErrAbortHandler)
		})))
		err := caller.Call(t.Context(), "GET https://failing.example/", nil, nil)
		kit.CheckError(t, err, 500, bus.ExecutedYes)
		failed := kit.AsBusError(t, err)
		if failed.Detail != "the handler gave no answer: net/http: abort Handler" {
			t.Errorf("%v", err)
		}
		line := logged.Line(t, "request failed")
		assert.Equal(t, "debug", line["level"])
		assert.Equal(t, 500.0, line["status"])
		assert.Equal(t, failed.Detail, line["detail"])
		assert.Nil(t, line["stack"])
	})
}

// TestHandler_ThatWritesTooMuch sets the status twice, and writes once the answer has gone.
func TestHandler_ThatWritesTooMuch(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("failing.example"), w.Connect("caller.example")
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
		require.NoError(t, err)
		response, body := kit.Do(t, caller, http.MethodGet, "https://failing.example/", "", "")
		assert.Equal(t, http.StatusTeapot, response.StatusCode)
		assert.Equal(t, "short", body)
		assert.Empty(t, response.Header.Get("X-Late"))
		close(over)
		assert.NoError(t, kit.Await(t, "the late word", wrote))
		if dropped := caller.Stats().Malformed + callee.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
	})
}

// TestEvent_OfClosedConnection has the metrics tell of an event that is fired too late, as they do of a call.
func TestEvent_OfClosedConnection(t *testing.T) {
	t.Parallel()
	closed := kit.NewBus(t).Connect("orders.example")
	require.NoError(t, closed.Close(t.Context()))
	for range 2 {
		if err := closed.Publish(t.Context(), "https://orders.example:417/on-ordered", nil); !errors.Is(err, bus.ErrClosed) {
			t.Error(err)
		}
	}
	made := closed.Traffic().Made
	require.Len(t, made, 1)
	assert.Equal(t, int64(2), made[0].Failed)
}

// TestFailedMulticast has the interceptors, the metrics and the log tell of a multicast that has reached no instance
// what its caller is told.
func TestFailedMulticast(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.CalculatorHost)
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.NoQueue()))
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, test := range []struct {
			name            string
			ctx             context.Context
			body            string
			end             func(*bus.Conn)
			status          int
			refused, failed int64
		}{
			{"too large", t.Context(), strings.Repeat("x", 2<<20), func(*bus.Conn) {}, 413, 1, 0},
			{"cancelled", cancelled, "", func(*bus.Conn) {}, 503, 0, 1},
			{"not allowed", bus.WithOutgoingHeader(t.Context(), "Host", "x"), "", func(*bus.Conn) {}, 400, 1, 0},
			{"closed", t.Context(), "", func(c *bus.Conn) { _ = c.Close(t.Context()) }, 503, 0, 1},
		} {
			t.Run(test.name, func(t *testing.T) {
				log, seen := new(kit.Lines), 0
				caller := w.Connect("caller.example", bus.WithLogger(zerolog.New(log)), bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
					return func(ctx context.Context, call *bus.Exchange) error {
						err := next(ctx, call)
						seen = call.Status(err)
						return err
					}
				}))
				test.end(caller)
				request, err := http.NewRequestWithContext(test.ctx, http.MethodPost, kit.CalculatorURL+"/who", strings.NewReader(test.body))
				require.NoError(t, err)
				var told []int
				for _, err := range caller.Multicast(request) {
					told = append(told, bus.StatusOf(err))
				}
				require.Len(t, told, 1)
				assert.Equal(t, test.status, told[0])
				assert.Equal(t, test.status, seen)
				made := caller.Traffic().Made
				require.Len(t, made, 1)
				assert.Equal(t, test.refused, made[0].Refused)
				assert.Equal(t, test.failed, made[0].Failed)
				bus.FlushLog(caller)
				if !strings.Contains(log.String(), `"message":"call failed"`) {
					t.Errorf("logged as %s", log)
				}
			})
		}
	})
}
