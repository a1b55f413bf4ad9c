package calls_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

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
	if got := kit.LeastAllocations(func() {
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
		"error": {errors.New("the disk is full"), 500, "the disk is full", "error"},
		"late": {fmt.Errorf("asking the disk: %w", context.DeadlineExceeded), 504,
			"asking the disk: context deadline exceeded", "error"},
		"over":     {context.DeadlineExceeded, 504, "context deadline exceeded", "debug"},
		"missing":  {bus.Errorf(http.StatusNotFound, "no product 7"), 404, "no product 7", "debug"},
		"upstream": {bus.Errorf(http.StatusBadGateway, "no answer from the bank"), 502, "no answer from the bank", "debug"},
		"kind": {bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "none left"), soldOut, precise), 409,
			"none left", "debug"},
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
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet,
		"https://far.example/function?"+r.URL.RawQuery, http.NoBody)
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
		callee, caller := w.Connect("failing.example",
			bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel))), w.Connect("caller.example")
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
