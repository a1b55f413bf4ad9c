package bus_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
)

// TestTryAgain holds that the interceptor of the guide calls an instance again that had no room, after the time that it asked for,
// and one that has failed by itself not at all.
func TestTryAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		seen := new(notes)
		callee := b.connect(calculatorHost, bus.WithMaxHandlers(1))
		answer := func(path string, status int, wait time.Duration) {
			if err := callee.Handle("GET", path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				seen.addf("%s", path)
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
		caller := b.connect("caller.example", bus.WithInterceptors(tryAgain))
		get := func(path string) int {
			return bus.StatusOf(caller.Call(t.Context(), "GET "+calculatorURL+path, nil, nil))
		}
		go get("/hold")
		synctest.Wait()
		began := time.Now()
		if status, took := get("/add"), time.Since(began); status != 200 || took != time.Second {
			t.Errorf("a call of a busy instance: %d after %s", status, took)
		}
		for path, status := range map[string]int{"/missing": 404, "/closed": 503, "/nothing": 404} {
			if got := get(path); got != status {
				t.Errorf("%s: %d", path, got)
			}
		}
		got := seen.all()
		slices.Sort(got)
		if want := []string{"/add", "/closed", "/hold", "/missing"}; !slices.Equal(got, want) {
			t.Errorf("run were %q, want %q", got, want)
		}
	})
}

// TestFailureIsWhatTheCallerGets holds what interceptors on both sides see of a call that fails: what its caller does.
func TestFailureIsWhatTheCallerGets(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
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
		conn := w.connect("shop.example", bus.WithInterceptors(look, refuse))
		serve(t, conn, merchant{conn})
		if err := conn.Handle("GET", "/teapot", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
		})); err != nil {
			t.Fatal(err)
		}
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
			failed := asBusError(t, conn.Call(t.Context(), "GET https://shop.example"+path, nil, nil))
			for _, each := range append(seen, failed) {
				if each == nil || each.Status != test.status || each.Type != test.kind || each.Executed != test.executed || each.Detail != failed.Detail {
					t.Errorf("%s: seen is %+v, want %+v", path, each, test)
				}
			}
			if len(seen) != test.sides {
				t.Errorf("%s: seen by %d", path, len(seen))
			}
		}
		seen = nil
		if err := conn.Call(t.Context(), "POST https://shop.example/openapi.json", nil, nil); bus.StatusOf(err) != 405 || len(seen) != 1 {
			t.Errorf("%v, seen %v", err, seen)
		}
		seen = nil
		if err := conn.Call(t.Context(), "GET https://shop.example/openapi.json", nil, nil); err != nil || len(seen) != 2 || seen[0] != nil || seen[1] != nil {
			t.Errorf("%v, seen %v", err, seen)
		}
	})
}

// TestFailureOfMadeUpExchanges as tests of interceptors have them.
func TestFailureOfMadeUpExchanges(t *testing.T) {
	t.Parallel()
	refused := bus.Errorf(http.StatusConflict, "no")
	for name, test := range map[string]struct {
		call   bus.Exchange
		err    error
		status int
	}{
		"nothing":      {bus.Exchange{}, nil, 0},
		"a response":   {bus.Exchange{Response: &wire.Response{Status: 399}}, nil, 0},
		"a failure":    {bus.Exchange{Response: &wire.Response{Status: 400}}, nil, 400},
		"an error":     {bus.Exchange{}, refused, 409},
		"both":         {bus.Exchange{Response: &wire.Response{Status: 404}}, refused, 409},
		"of no status": {bus.Exchange{}, errors.New("disk full"), 500},
		"a multicast":  {bus.Exchange{Multicast: true, Answers: 2}, nil, 0},
	} {
		failed := test.call.Failure(test.err)
		if test.status == 0 && failed != nil || test.status != 0 && (failed == nil || failed.Status != test.status) {
			t.Errorf("%s: %v", name, failed)
		}
		if test.err == refused && failed.Executed != bus.ExecutedYes { //nolint:errorlint // this very error
			t.Errorf("%s: executed %s", name, failed.Executed)
		}
	}
}

func TestFailureOfSuccessAllocatesNothing(t *testing.T) { //nolint:paralleltest // counts the allocations of the whole process
	call := &bus.Exchange{Response: &wire.Response{Status: http.StatusOK}}
	if got := leastAllocations(func() {
		if call.Failure(nil) != nil {
			t.Error("it has failed")
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
