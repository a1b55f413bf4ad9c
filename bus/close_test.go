package bus_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
)

func TestClose_FinishesWhatHasBegun(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, callee, helper := w.connect("caller.example"), w.connect("slow.example"), w.connect("helper.example")
		serve(t, helper, calculator{})
		begun, finish := make(chan struct{}), make(chan struct{})
		err := callee.Handle("GET", "/slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			<-finish
			var sum struct{ Sum int } // a handler that still runs may call others
			if err := callee.Call(r.Context(), "https://helper.example/add", bus.Args{"x": 2}, &sum); err != nil {
				bus.WriteError(w, r, err)
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		for range 5 {
			calls.Go(func() {
				if response, body := do(t, caller, "GET", "https://slow.example/slow", "", ""); response.StatusCode != 200 {
					t.Errorf("a call in flight was answered %d %s", response.StatusCode, body)
				}
			})
			<-begun
		}
		closed := make(chan error)
		go func() { closed <- callee.Close(context.Background()) }()
		for bus.StatusOf(callee.Call(t.Context(), "https://helper.example/add", nil, nil)) != 503 {
			continue // until Close has begun
		}
		close(finish)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		calls.Wait()
		err = callee.Call(t.Context(), "https://helper.example/add", nil, nil)
		if !errors.Is(err, bus.ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
		if err := bus.Serve(callee, calculator{}); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("Serve after Close: %v", err)
		}
		if err := callee.Close(context.Background()); err != nil {
			t.Errorf("Close again: %v", err)
		}
		err = caller.Call(t.Context(), "https://slow.example/slow", nil, nil)
		if !errors.Is(err, bus.ErrNoResponder) {
			t.Errorf("a call to the closed service: %v", err)
		}
	})
}

func TestClose_GivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, callee := w.connect("caller.example"), w.connect("slow.example")
		begun := make(chan struct{})
		err := callee.Handle("GET", "/slow", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
		}))
		if err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		calling, leave := context.WithCancel(t.Context())
		calls.Go(func() {
			_ = caller.Call(calling, "GET https://slow.example/slow", nil, nil) // cut off, or answered by the handler that was
		})
		<-begun
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := callee.Close(ctx); err == nil || !strings.Contains(err.Error(), "cut off 1 handler and 0 calls:") {
			t.Errorf("got %v", err)
		}
		leave()
		calls.Wait()
	})
}

// TestReplacedInstanceLosesNothing stops one of two instances, again and again, while calls come in.
func TestReplacedInstanceLosesNothing(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller := w.connect("caller.example")
		start := func() *bus.Conn {
			conn := w.connect(calculatorHost)
			serve(t, conn, calculator{})
			return conn
		}
		stays, leaves := start(), start()
		_ = stays
		var calls sync.WaitGroup
		var stop atomic.Bool
		for range 8 {
			calls.Go(func() {
				for !stop.Load() {
					var out struct{ Sum int }
					if err := caller.Call(t.Context(), calculatorURL+"/add", bus.Args{"x": 1, "y": 2}, &out); err != nil || out.Sum != 3 {
						t.Errorf("lost: %v", err)
						return
					}
				}
			})
		}
		for range 10 {
			next := start()
			if err := leaves.Close(context.Background()); err != nil {
				t.Error(err)
			}
			leaves = next
		}
		stop.Store(true)
		calls.Wait()
	})
}

// TestSingleInstanceIsReplaced leaves a gap between the old instance and the new one.
func TestSingleInstanceIsReplaced(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, callee := newCalculator(t, w)
		if err := caller.Call(t.Context(), calculatorURL+"/add", nil, nil); err != nil {
			t.Fatal(err) // from now on the caller has heard of the host
		}
		if err := callee.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		called := make(chan error)
		go func() { called <- caller.Call(t.Context(), calculatorURL+"/add", nil, nil) }()
		next := w.connect(calculatorHost)
		serve(t, next, calculator{})
		if err := <-called; err != nil {
			t.Errorf("a call made in between: %v", err)
		}
	})
}

func TestBroker_Away(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, _ := newCalculator(t, w)
		gone := caller.NATS().StatusChanged(nats.RECONNECTING)
		w.Broker().Close()
		<-gone
		err := caller.Call(t.Context(), "https://elsewhere.example/add", nil, nil)
		failed, _ := errors.AsType[*bus.Error](err)
		if failed == nil || failed.Status != 503 || !errors.Is(err, bus.ErrDisconnected) || failed.Executed != bus.ExecutedNo {
			t.Errorf("got %v", err)
		}
		for _, err := range caller.Multicast(mustRequest(t, calculatorURL+"/who")) {
			if !errors.Is(err, bus.ErrDisconnected) {
				t.Errorf("multicast: %v", err)
			}
		}
	})
}

// TestServe_WhileClosing registers endpoints for as long as it can.
func TestServe_WhileClosing(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		for range 20 {
			conn := w.connect("late.example")
			registered := make(chan error, 1)
			go func() {
				for i := 0; ; i++ {
					if err := conn.Handle("GET", "/"+strconv.Itoa(i), http.NotFoundHandler()); err != nil {
						registered <- err
						return
					}
				}
			}()
			if err := conn.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if err := <-registered; !errors.Is(err, bus.ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestHandler_CallsItsOwnHostWhileClosing is REST that calls RPC, when the only instance leaves.
func TestHandler_CallsItsOwnHostWhileClosing(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, callee := newCalculator(t, w)
		begun, finish := make(chan struct{}), make(chan struct{})
		err := callee.Handle("GET", "/outer", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-finish
			for _, address := range []string{calculatorURL, "https://" + callee.ID() + "." + calculatorHost} {
				var out struct{ Sum int }
				if err := callee.Call(r.Context(), address+"/add", bus.Args{"x": 1, "y": 2}, &out); err != nil || out.Sum != 3 {
					t.Errorf("%s: %v, %v", address, out, err)
				}
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan error)
		go func() { answered <- caller.Call(t.Context(), "GET "+calculatorURL+"/outer", nil, nil) }()
		<-begun
		closed := make(chan error)
		go func() { closed <- callee.Close(context.Background()) }()
		for !errors.Is(callee.Call(t.Context(), calculatorURL+"/add", nil, nil), bus.ErrClosed) {
			continue // until Close has begun
		}
		close(finish)
		if err := errors.Join(<-answered, <-closed); err != nil {
			t.Error(err)
		}
	})
}

// TestClose_WhileTheBrokerLeaves would wait for its whole context if it waited for a broker that is gone.
func TestClose_WhileTheBrokerLeaves(t *testing.T) {
	t.Parallel()
	w := &world{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	var leaving sync.WaitGroup
	conn := w.connect(calculatorHost)
	serve(t, conn, calculator{})
	leaving.Go(w.Broker().Close)
	if err := conn.Close(context.Background()); err != nil { // no deadline: it hangs, or it returns
		t.Error(err)
	}
	leaving.Wait()
}

func mustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return request
}
