package bus_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// serveHanging serves GET /hang, which does not heed its context.
func serveHanging(t *testing.T, conn *bus.Conn, hang time.Duration) {
	t.Helper()
	err := conn.Handle("GET", "/hang", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(hang) }))
	if err != nil {
		t.Fatal(err)
	}
}

// TestHangingHandlersHoldNobodyUp has a thousand handlers outlive the budgets of their callers.
func TestHangingHandlersHoldNobodyUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, callee := b.connect("caller.example"), b.connect("hanging.example")
		serveHanging(t, callee, time.Minute)
		idle := b.goroutines()
		var calls sync.WaitGroup
		for range 1000 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				begun := time.Now()
				err := caller.Call(ctx, "GET https://hanging.example/hang", nil, nil)
				wantFailed(t, "the call", err, 504, bus.ErrTimeout, context.DeadlineExceeded)
				if failed, _ := errors.AsType[*bus.Error](err); failed.Host != callee.Host() || failed.ID != callee.ID() {
					t.Errorf("%s.%s is named", failed.ID, failed.Host)
				}
				if took := time.Since(begun); took != 300*time.Millisecond {
					t.Errorf("the call took %s", took)
				}
			})
		}
		calls.Wait()
		if hanging := callee.Stats().InFlight; hanging != 1000 {
			t.Errorf("%d handlers hang, want all", hanging)
		}
		time.Sleep(time.Minute)
		if left := b.goroutines() - idle; left != 0 {
			t.Errorf("%d goroutines are left", left)
		}
		if left := bus.RunningRequests(callee); left != 0 {
			t.Errorf("%d requests are remembered", left)
		}
	})
}

// TestTimeBudgetCutsNobodyOff has a handler ignore its context, which ends after 2 s: it is answered when it returns, as long
// as its caller waits.
func TestTimeBudgetCutsNobodyOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, callee := b.connect("caller.example"), b.connect("deaf.example")
		over := make(chan error, 2)
		err := callee.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "0")
			time.Sleep(4 * time.Second)
			over <- r.Context().Err()
		}), bus.TimeBudget(2*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := caller.Call(t.Context(), "GET https://deaf.example/", nil, nil); err != nil || time.Since(begun) != 4*time.Second {
			t.Errorf("who waits: %v after %s", err, time.Since(begun))
		}
		if err := <-over; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the handler's context: %v", err)
		}
		begun = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		wantFailed(t, "who does not", caller.Call(ctx, "GET https://deaf.example/", nil, nil), 504, bus.ErrTimeout, context.DeadlineExceeded)
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("who does not wait took %s", took)
		}
	})
}

// TestClose_WithAHangingHandler ends with its context and tells what it cut off.
func TestClose_WithAHangingHandler(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, callee := b.connect("caller.example"), b.connect("hanging.example")
		serveHanging(t, callee, time.Minute)
		called := make(chan error, 1)
		go func() { called <- caller.Call(t.Context(), "GET https://hanging.example/hang", nil, nil) }()
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begun := time.Now()
		err := callee.Close(ctx)
		if err == nil || !strings.Contains(err.Error(), "cut off 1 handler and 0 calls:") || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("Close took %s of 3s", took)
		}
		err = <-called
		if failed, _ := errors.AsType[*bus.Error](err); failed == nil || failed.Status != 504 || failed.Executed != bus.ExecutedUnknown {
			t.Errorf("the call: %v", err)
		}
		time.Sleep(time.Minute)
	})
}
