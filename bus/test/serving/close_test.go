package serving_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
)

func TestClose_FinishesWhatHasBegun(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee, helper := w.Connect("caller.example"), w.Connect("slow.example"), w.Connect("helper.example")
		kit.Serve(t, helper, kit.Calculator{})
		begun, finish := make(chan struct{}), make(chan struct{})
		err := callee.Handle("GET", "/slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			<-finish
			var sum struct{ Sum int } // a handler that still runs may call others
			if err := callee.Call(r.Context(), "https://helper.example/add", bus.Args{"x": 2}, &sum); err != nil {
				bus.WriteError(w, r, err)
			}
		}))
		require.NoError(t, err)
		var calls sync.WaitGroup
		for range 5 {
			calls.Go(func() {
				if response, body := kit.Do(t, caller, "GET", "https://slow.example/slow", "", ""); response.StatusCode != 200 {
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
		assert.NoError(t, <-closed)
		calls.Wait()
		err = callee.Call(t.Context(), "https://helper.example/add", nil, nil)
		if !errors.Is(err, bus.ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
		if err := bus.Serve(callee, kit.Calculator{}); !errors.Is(err, bus.ErrClosed) {
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
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := w.Connect("caller.example"), w.Connect("slow.example")
		begun := make(chan struct{})
		err := callee.Handle("GET", "/slow", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
		}))
		require.NoError(t, err)
		var calls sync.WaitGroup
		calling, leave := context.WithCancel(t.Context())
		calls.Go(func() {
			_ = caller.Call(calling, "GET https://slow.example/slow", nil, nil) // cut off, or answered by the handler that was
		})
		<-begun
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err = callee.Close(ctx)
		assert.ErrorContains(t, err, "cut off 1 handler and 0 calls:")
		leave()
		calls.Wait()
	})
}

// TestClose_ReplacedInstanceLosesNothing stops one of two instances, again and again, while calls come in.
func TestClose_ReplacedInstanceLosesNothing(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller := w.Connect("caller.example")
		start := func() *bus.Conn {
			conn := w.Connect(kit.CalculatorHost)
			kit.Serve(t, conn, kit.Calculator{})
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
					if err := caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1, "y": 2}, &out); err != nil ||
						out.Sum != 3 {
						t.Errorf("lost: %v", err)
						return
					}
				}
			})
		}
		for range 10 {
			next := start()
			assert.NoError(t, leaves.Close(context.Background()))
			leaves = next
		}
		stop.Store(true)
		calls.Wait()
	})
}

// TestClose_SingleInstanceIsReplaced leaves a gap between the old instance and the new one.
func TestClose_SingleInstanceIsReplaced(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		if err := caller.Call(t.Context(), kit.CalculatorURL+"/add", nil, nil); err != nil {
			t.Fatal(err) // from now on the caller has heard of the host
		}
		require.NoError(t, callee.Close(context.Background()))
		called := make(chan error)
		go func() { called <- caller.Call(t.Context(), kit.CalculatorURL+"/add", nil, nil) }()
		next := w.Connect(kit.CalculatorHost)
		kit.Serve(t, next, kit.Calculator{})
		if err := <-called; err != nil {
			t.Errorf("a call made in between: %v", err)
		}
	})
}

func TestBroker_Away(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		gone := caller.NATS().StatusChanged(nats.RECONNECTING)
		w.Broker().Close()
		<-gone
		err := caller.Call(t.Context(), "https://elsewhere.example/add", nil, nil)
		kit.CheckError(t, err, 503, bus.ExecutedNo)
		if !errors.Is(err, bus.ErrDisconnected) {
			t.Errorf("got %v", err)
		}
		for _, err := range caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) {
			if !errors.Is(err, bus.ErrDisconnected) {
				t.Errorf("multicast: %v", err)
			}
		}
	})
}

// TestServe_WhileClosing registers endpoints for as long as it can.
func TestServe_WhileClosing(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for range 20 {
			conn := w.Connect("late.example")
			registered := make(chan error, 1)
			go func() {
				for i := 0; ; i++ {
					if err := conn.Handle("GET", "/"+strconv.Itoa(i), http.NotFoundHandler()); err != nil {
						registered <- err
						return
					}
				}
			}()
			assert.NoError(t, conn.Close(context.Background()))
			if err := <-registered; !errors.Is(err, bus.ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestHandler_CallsItsOwnHostWhileClosing is REST that calls RPC, when the only instance leaves.
func TestHandler_CallsItsOwnHostWhileClosing(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		begun, finish := make(chan struct{}), make(chan struct{})
		err := callee.Handle("GET", "/outer", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-finish
			for _, address := range []string{kit.CalculatorURL, "https://" + callee.ID() + "." + kit.CalculatorHost} {
				var out struct{ Sum int }
				err := callee.Call(r.Context(), address+"/add", bus.Args{"x": 1, "y": 2}, &out)
				assert.NoError(t, err, address)
				assert.Equal(t, 3, out.Sum, address)
			}
		}))
		require.NoError(t, err)
		answered := make(chan error)
		go func() { answered <- caller.Call(t.Context(), "GET "+kit.CalculatorURL+"/outer", nil, nil) }()
		<-begun
		closed := make(chan error)
		go func() { closed <- callee.Close(context.Background()) }()
		for !errors.Is(callee.Call(t.Context(), kit.CalculatorURL+"/add", nil, nil), bus.ErrClosed) {
			continue // until Close has begun
		}
		close(finish)
		assert.NoError(t, errors.Join(<-answered, <-closed))
	})
}

// TestClose_WhileTheBrokerLeaves would wait for its whole context if it waited for a broker that is gone.
func TestClose_WhileTheBrokerLeaves(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	var leaving sync.WaitGroup
	conn := w.Connect(kit.CalculatorHost)
	kit.Serve(t, conn, kit.Calculator{})
	leaving.Go(w.Broker().Close)
	if err := conn.Close(context.Background()); err != nil { // no deadline: it hangs, or it returns
		t.Error(err)
	}
	leaving.Wait()
}

// leaver has handlers that leave a call behind, which outlives their contexts.
type leaver struct {
	conn  *bus.Conn
	begin chan struct{} // the calls
	end   chan struct{} // the handlers that stay
	left  chan error
}

func (l *leaver) Leave(ctx context.Context) {
	go func() {
		<-l.begin
		l.left <- l.conn.Call(context.WithoutCancel(ctx), "https://slow.example/wait", nil, nil)
	}()
}

func (l *leaver) LeaveLate(ctx context.Context) {
	l.Leave(ctx)
	<-l.end
}

func (l *leaver) Stay() { <-l.end }

// lingering answers when it is let.
type lingering struct{ let chan struct{} }

func (s lingering) Wait() { <-s.let }

// serveLeaver also serves what a leaver calls. What it calls by itself is a call from outside.
func serveLeaver(b *kit.Bubble) (l *leaver, slow lingering, call func(path string) <-chan error) {
	b.T.Helper()
	l = &leaver{b.Connect("leaver.example"), make(chan struct{}), make(chan struct{}), make(chan error, 1)}
	slow = lingering{make(chan struct{})}
	kit.Serve(b.T, l.conn, l)
	kit.Serve(b.T, b.Connect("slow.example"), slow)
	caller := b.Connect("caller.example")
	return l, slow, func(path string) <-chan error {
		answered := make(chan error, 1)
		go func() { answered <- caller.Call(b.T.Context(), "https://leaver.example"+path, nil, nil) }()
		synctest.Wait()
		return answered
	}
}

// close closes in the background.
func (l *leaver) close(t *testing.T) <-chan error {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- l.conn.Close(t.Context()) }()
	synctest.Wait()
	return closed
}

// TestClose_WaitsForWhatHandlersLeaveBehind has handlers return while a call that they have made is under way.
func TestClose_WaitsForWhatHandlersLeaveBehind(t *testing.T) {
	t.Parallel()
	for path, late := range map[string]bool{"/leave": false, "/leave-late": true} {
		kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
			l, slow, call := serveLeaver(b)
			answered := call(path)
			var closed <-chan error
			if late {
				closed = l.close(t)
			}
			close(l.begin)
			synctest.Wait()
			close(l.end)
			synctest.Wait()
			if !late {
				closed = l.close(t)
			}
			select {
			case err := <-closed:
				t.Errorf("%s: Close has not waited: %v", path, err)
			default:
			}
			close(slow.let)
			if err := errors.Join(<-answered, <-l.left, <-closed); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
}

// TestClose_NoCallsOfHandlersThatHaveReturned makes a call while the connection closes, with the context of a handler
// that is over.
func TestClose_NoCallsOfHandlersThatHaveReturned(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		l, _, call := serveLeaver(b)
		require.NoError(t, <-call("/leave"))
		answered := call("/stay")
		closed := l.close(t)
		close(l.begin)
		err := <-l.left
		failed, ok := errors.AsType[*bus.Error](err)
		require.True(t, ok, "the call")
		assert.ErrorIs(t, err, bus.ErrClosed, "the call")
		assert.Equal(t, bus.ExecutedNo, failed.Executed, "the call")
		close(l.end)
		assert.NoError(t, errors.Join(<-answered, <-closed))
	})
}

// selfish has a handler that calls one of its own host.
type selfish struct {
	conn          *bus.Conn
	entered, hung chan struct{}
	goOn, let     chan struct{}
}

func (s *selfish) Outer(ctx context.Context) error {
	s.entered <- struct{}{}
	<-s.goOn
	return s.conn.Call(ctx, "https://selfish.example/inner", nil, nil)
}

func (s *selfish) Inner() {
	s.hung <- struct{}{}
	<-s.let
}

// TestClose_GivesUpOnOwnCalls has Close give up on a handler that waits for one of its own instance, and tells that so.
func TestClose_GivesUpOnOwnCalls(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		conn := b.Connect("selfish.example")
		s := &selfish{conn, make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})}
		kit.Serve(t, conn, s)
		caller := b.Connect("caller.example")
		called := make(chan error)
		go func() { called <- caller.Call(t.Context(), "https://selfish.example/outer", nil, nil) }()
		<-s.entered
		ctx, giveUp := context.WithCancel(t.Context())
		closed := make(chan error)
		go func() { closed <- conn.Close(ctx) }()
		synctest.Wait()
		s.goOn <- struct{}{}
		<-s.hung
		giveUp()
		err := <-closed
		assert.ErrorIs(t, err, context.Canceled, "closed")
		assert.ErrorContains(t, err, "2 handlers", "closed")
		if err := <-called; bus.StatusOf(err) != http.StatusServiceUnavailable {
			t.Errorf("called: %v", err)
		}
		close(s.let)
	})
}

// many has methods enough for Serve to take a moment.
type many struct{}

func (many) A() {}
func (many) B() {}
func (many) C() {}
func (many) D() {}
func (many) E() {}
func (many) F() {}
func (many) G() {}
func (many) H() {}

// TestClose_HearsCancels closes an instance whose handlers wait for the end of their contexts: callers that leave
// meanwhile end them.
func TestClose_HearsCancels(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("slow.example"), w.Connect("caller.example")
		entered := make(chan struct{})
		require.NoError(t, callee.Handle("GET", "/slow", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			entered <- struct{}{}
			<-r.Context().Done()
			assert.ErrorIs(t, context.Cause(r.Context()), bus.ErrCallerLeft)
		})))
		ctx, leave := context.WithCancel(t.Context())
		var called sync.WaitGroup
		called.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://slow.example/slow", nil)
			assert.NoError(t, err)
			_, err = caller.Do(request) //nolint:bodyclose // it fails
			assert.ErrorIs(t, err, context.Canceled)
		})
		<-entered
		closed, left := make(chan error, 1), make(chan struct{})
		caller.WatchAnnouncements(func(each bus.Announcement) {
			if each.Leaves && each.Host == "slow.example" {
				close(left) // it takes no requests any more
			}
		})
		go func() { closed <- callee.Close(t.Context()) }()
		<-left
		leave()
		require.NoError(t, <-closed)
		called.Wait()
	})
}

// TestClose_SendsLargeResponses closes an instance while its handlers have megabytes to send, of which no reader has
// taken more than a window.
func TestClose_SendsLargeResponses(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("files.example"), w.Connect("caller.example")
		const half = 2 << 20
		require.NoError(t, callee.Handle("GET", "/file", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := w.Write(make([]byte, half))
			assert.NoError(t, errors.Join(err, http.NewResponseController(w).Flush()))
			<-bus.Closing(r.Context())
			_, err = w.Write(make([]byte, half))
			assert.NoError(t, err)
		})))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://files.example/file", nil)
		require.NoError(t, err)
		response, err := caller.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		_, err = io.CopyN(io.Discard, response.Body, half)
		require.NoError(t, err)
		closed := make(chan error, 1)
		go func() { closed <- callee.Close(t.Context()) }()
		n, err := io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		assert.EqualValues(t, half, n)
		require.NoError(t, <-closed)
	})
}

// TestClose_WhileServing closes connections that are about to serve something, which is then taken back: both end the
// same subscriptions, and neither waits for the other.
func TestClose_WhileServing(t *testing.T) {
	t.Parallel()
	// so a slow machine is not taken for a broker that holds up Close
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		w := &kit.World{Bus: b, Transport: bus.WithoutShortCircuit()}
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				for round := range 200 {
					closeWhileServing(t, w, round)
				}
			})
		}
		all.Wait()
	})
}

func closeWhileServing(t *testing.T, w *kit.World, pause int) {
	t.Helper()
	conn := w.Connect("many.example")
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := bus.Serve(conn, many{}); err != nil && !errors.Is(err, bus.ErrClosed) { // it fails unless it is in time
			t.Error(err)
		}
	})

	// Close finds Serve at another place each time, and every other time takes no time
	for range pause {
		runtime.Gosched()
	}
	hung, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	patience := hung
	if pause%2 == 1 {
		var leave context.CancelFunc
		patience, leave = context.WithCancel(hung)
		leave()
	}
	assert.NoError(t, errors.Join(conn.Close(patience), hung.Err()))
	serving.Wait()
}

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
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		conn := b.Connect("exit.example")
		kit.Serve(t, conn, kit.Calculator{})
		for path, handler := range exits(conn) {
			require.NoError(t, conn.Handle("GET", path, handler, bus.NoQueue()))
		}
		begun := time.Now()
		for path := range exits(conn) {
			err := conn.Call(t.Context(), "GET https://exit.example"+path, nil, nil)
			kit.CheckError(t, err, 500, bus.ExecutedYes)
			failed := kit.AsBusError(t, err)
			if !strings.Contains(failed.Detail, "the handler exited its goroutine") {
				t.Errorf("%s: %v", path, err)
			}
			for response, err := range conn.Multicast(kit.MustRequest(t, "https://"+conn.ID()+".exit.example"+path)) {
				require.NoError(t, err, "multicast to %s", path)
				assert.Equal(t, 500, response.StatusCode, "multicast to %s", path)
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

// TestClose_ManyHandlersThatExit makes calls at the same time, of which every other handler exits the goroutine that
// would have handled the next one.
func TestClose_ManyHandlersThatExit(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		conn := b.Connect("exit.example")
		kit.Serve(t, conn, kit.Calculator{})
		caller := b.Connect("caller.example")
		var calling sync.WaitGroup
		for range 200 {
			calling.Go(func() {
				if err := caller.Call(t.Context(), "https://exit.example/exit", nil,
					nil); bus.StatusOf(err) != http.StatusInternalServerError {
					t.Errorf("one that exits: %v", err)
				}
			})
			calling.Go(func() {
				assert.NoError(t, caller.Call(t.Context(), "https://exit.example/add", bus.Args{"x": 1, "y": 2}, nil))
			})
		}
		calling.Wait()
	})
}
