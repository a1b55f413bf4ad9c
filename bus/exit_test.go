package bus_test

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// exits are handlers that leave their goroutine, as t.FailNow and mocks do.
func exits(conn *bus.Conn) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/at-once": func(http.ResponseWriter, *http.Request) { runtime.Goexit() },
		"/halfway": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "half an answer")
			runtime.Goexit()
		},
		"/deferred": func(http.ResponseWriter, *http.Request) {
			defer runtime.Goexit()
			panic("a panic that nobody hears of")
		},
		"/recovered": func(http.ResponseWriter, *http.Request) {
			defer func() { _ = recover() }() // as middleware does; there is nothing to recover
			runtime.Goexit()
		},
		"/later": func(_ http.ResponseWriter, r *http.Request) {
			_ = conn.Call(r.Context(), "GET https://exit.example/at-once", nil, nil)
			runtime.Goexit()
		},
	}
}

// TestHandler_ThatExitsIsAnswered calls handlers that exit their goroutines: the caller gets a 500 at once.
func TestHandler_ThatExitsIsAnswered(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		conn := b.connect("exit.example")
		serve(t, conn, calculator{})
		for path, handler := range exits(conn) {
			if err := conn.Handle("GET", path, handler, bus.NoQueue()); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		for path := range exits(conn) {
			err := conn.Call(t.Context(), "GET https://exit.example"+path, nil, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			if failed == nil || failed.Status != 500 || failed.Executed != bus.ExecutedYes || !strings.Contains(failed.Detail, "the handler exited its goroutine") {
				t.Errorf("%s: %v", path, err)
			}
			for response, err := range conn.Multicast(mustRequest(t, "https://"+conn.ID()+".exit.example"+path)) {
				if err != nil || response.StatusCode != 500 {
					t.Errorf("multicast to %s: %v, %v", path, response, err)
				}
			}
		}
		if err := conn.Call(t.Context(), "https://exit.example/exit", nil, nil); bus.StatusOf(err) != 500 {
			t.Errorf("a function that exits: %v", err)
		}
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("the answers took %s", waited)
		}
		if running := conn.Stats().InFlight; running != 0 {
			t.Errorf("%d handlers still run", running)
		}
	})
}

// TestManyHandlersThatExit makes calls at the same time, of which every other handler exits the goroutine that would have handled
// the next one.
func TestManyHandlersThatExit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		conn := b.connect("exit.example")
		serve(t, conn, calculator{})
		caller := b.connect("caller.example")
		var calling sync.WaitGroup
		for range 200 {
			calling.Go(func() {
				if err := caller.Call(t.Context(), "https://exit.example/exit", nil, nil); bus.StatusOf(err) != http.StatusInternalServerError {
					t.Errorf("one that exits: %v", err)
				}
			})
			calling.Go(func() {
				if err := caller.Call(t.Context(), "https://exit.example/add", bus.Args{"x": 1, "y": 2}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		calling.Wait()
	})
}
