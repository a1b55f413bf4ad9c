package serving_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// counter counts its calls, and holds some of them.
type counter struct {
	counted atomic.Int64
	begun   chan struct{}
	finish  chan struct{}
}

func newCounter() *counter { return &counter{begun: make(chan struct{}), finish: make(chan struct{})} }

// Count counts.
func (c *counter) Count() { c.counted.Add(1) }

// Hold answers when it is told to.
func (c *counter) Hold() {
	c.begun <- struct{}{}
	<-c.finish
}

const countURL = kit.CalculatorURL + "/count"

// countUntil calls from several goroutines until stop, which returns how many calls were answered, and what became of
// the others. A goroutine stops at its first one. A pause after each answer lets the clock of a bubble go on.
func countUntil(t *testing.T, caller *bus.Conn, pause time.Duration) (stop func() (answered int64, lost error)) {
	t.Helper()
	require.NoError(t, caller.Call(t.Context(), countURL, nil, nil)) // a host that has answered is waited for
	var calls sync.WaitGroup
	var answered atomic.Int64
	answered.Add(1)
	var over atomic.Bool
	lost := make(chan error, 8)
	for range cap(lost) {
		calls.Go(func() {
			for !over.Load() {
				if err := caller.Call(t.Context(), countURL, nil, nil); err != nil {
					lost <- err
					return
				}
				answered.Add(1)
				time.Sleep(pause)
			}
		})
	}
	return func() (int64, error) {
		over.Store(true)
		calls.Wait()
		close(lost)
		return answered.Load(), <-lost
	}
}

// TestWithdraw_LosesNothing withdraws and serves again on two instances in turn, while calls come in. One of the two is
// served by two values.
func TestWithdraw_LosesNothing(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller := w.Connect("caller.example")
		conns := []*bus.Conn{w.Connect(kit.CalculatorHost), w.Connect(kit.CalculatorHost)}
		one := newCounter()
		for _, conn := range conns {
			kit.Serve(t, conn, one)
		}
		kit.Serve(t, conns[0], kit.Words{})
		stop := countUntil(t, caller, 0)
		for round := range 30 {
			conn := conns[round%2]
			assert.NoError(t, conn.Withdraw(t.Context(), one))
			kit.Serve(t, conn, one)
		}
		answered, lost := stop()
		require.NoError(t, lost)
		assert.Equal(t, answered, one.counted.Load(), "a call has run twice")
	})
}

// TestWithdraw_SingleInstance leaves a gap, in which no instance serves the endpoint.
func TestWithdraw_SingleInstance(t *testing.T) {
	t.Parallel()
	for name, isAlone := range map[string]bool{"all": true, "one of two": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
				caller, callee, one := b.Connect("caller.example"), b.Connect(kit.CalculatorHost), newCounter()
				if !isAlone {
					kit.Serve(t, callee, kit.Words{})
				}
				kit.Serve(t, callee, one)
				stop := countUntil(t, caller, time.Millisecond)
				for range 10 {
					assert.NoError(t, callee.Withdraw(t.Context(), one))
					kit.Serve(t, callee, one)
					before := one.counted.Load()
					kit.Eventually(t, func() bool { return one.counted.Load() > before })
				}
				answered, lost := stop()
				require.NoError(t, lost)
				assert.Equal(t, answered, one.counted.Load(), "a call has run twice")
			})
		})
	}
}

// TestWithdraw_AwaitsHandlers holds that handlers end, and that the time for that is limited.
func TestWithdraw_AwaitsHandlers(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee, one := b.Connect("caller.example"), b.Connect(kit.CalculatorHost), newCounter()
		kit.Serve(t, callee, one)
		answered := make(chan error, 2)
		go func() { answered <- caller.Call(t.Context(), kit.CalculatorURL+"/hold", nil, nil) }()
		<-one.begun
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := callee.Withdraw(ctx, one)
		require.ErrorContains(t, err, "withdraw *serving_test.counter from calculator.example: "+
			"it does not wait any longer for 1 handler: context deadline exceeded")
		kit.Serve(t, callee, one)
		withdrawn := make(chan error, 1)
		go func() { answered <- caller.Call(t.Context(), kit.CalculatorURL+"/hold", nil, nil) }()
		<-one.begun
		go func() { withdrawn <- callee.Withdraw(t.Context(), one) }()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		assert.Empty(t, withdrawn, "a handler runs")
		close(one.finish)
		require.NoError(t, <-withdrawn)
		require.NoError(t, <-answered)
		require.NoError(t, <-answered)
	})
}

// relay calls its own host.
type relay struct {
	conn  *bus.Conn
	begun chan struct{}
	pass  chan struct{}
}

// Add adds.
func (relay) Add(x, y int) (sum int) { return x + y }

// Sum has its host add, when it is told to.
func (r relay) Sum(ctx context.Context, x, y int) (sum int, err error) {
	r.begun <- struct{}{}
	<-r.pass
	var added struct{ Sum int }
	err = r.conn.Call(ctx, kit.CalculatorURL+"/add", bus.Args{"x": x, "y": y}, &added)
	return added.Sum, err
}

// TestWithdraw_HandlerCallsItsOwnHost holds that a handler finds what was withdrawn with it, and others do not.
func TestWithdraw_HandlerCallsItsOwnHost(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee := b.Connect("caller.example"), b.Connect(kit.CalculatorHost)
		impl := relay{callee, make(chan struct{}), make(chan struct{})}
		kit.Serve(t, callee, impl)
		answered, withdrawn := make(chan error, 1), make(chan error, 1)
		var out struct{ Sum int }
		go func() {
			answered <- caller.Call(t.Context(), kit.CalculatorURL+"/sum", bus.Args{"x": 1, "y": 2}, &out)
		}()
		<-impl.begun
		go func() { withdrawn <- callee.Withdraw(t.Context(), impl) }()
		time.Sleep(time.Second)
		err := callee.Call(t.Context(), kit.CalculatorURL+"/add", nil, nil)
		kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
		close(impl.pass)
		require.NoError(t, <-answered)
		assert.Equal(t, 3, out.Sum)
		require.NoError(t, <-withdrawn)
	})
}

// TestWithdraw_Called calls what was withdrawn, with and without other endpoints beside it, and one instance.
func TestWithdraw_Called(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee, one := b.Connect("caller.example"), b.Connect(kit.CalculatorHost), newCounter()
		kit.Serve(t, callee, one)
		require.NoError(t, caller.Call(t.Context(), countURL, nil, nil))
		for _, beside := range []bool{false, true} {
			if beside {
				kit.Serve(t, callee, one)
				kit.Serve(t, callee, kit.Words{})
			}
			require.NoError(t, callee.Withdraw(t.Context(), one))
			for what, url := range map[string]string{
				"host": countURL, "instance": "https://" + callee.ID() + ".calculator.example/count",
			} {
				began := time.Now()
				err := caller.Call(t.Context(), url, nil, nil)
				kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
				if what == "host" {
					assert.InDelta(t, 0.5, time.Since(began).Seconds(), 0.1, "as for a replacement")
				}
			}
		}
		assert.NoError(t, caller.Call(t.Context(), kit.CalculatorURL+"/length", bus.Args{"text": "a"}, nil))
		_, body := kit.Do(t, caller, "GET", kit.CalculatorURL+":888/allow?port=443&path=/count", "", "")
		assert.JSONEq(t, `{"methods":[],"withdrawn":["GET","HEAD","POST"]}`, body)
		assert.EqualValues(t, 1, one.counted.Load())
		err := caller.Call(t.Context(), "PUT "+countURL, nil, nil)
		kit.CheckError(t, err, http.StatusNotFound, bus.ExecutedNo)
	})
}

// TestWithdraw_Follows holds that all that tells what is served follows, and that it is as before in the end.
func TestWithdraw_Follows(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee, one := b.Connect("caller.example"), b.Connect(kit.CalculatorHost), newCounter()
		other := b.Connect(kit.CalculatorHost)
		handler := http.NewServeMux()
		before := toldOf(t, caller, callee)
		kit.Serve(t, callee, one)
		kit.Serve(t, other, one)
		first := toldOf(t, caller, callee)
		kit.Serve(t, callee, kit.Words{}, bus.Port(444))
		require.NoError(t, callee.Handle("GET", "/files", handler, bus.Port(445)))
		second := toldOf(t, caller, callee)
		assert.NotEqual(t, first, second)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Len(t, other.DifferingInstances(), 1)

		require.NoError(t, callee.Withdraw(t.Context(), handler))
		require.NoError(t, callee.Withdraw(t.Context(), kit.Words{}))
		assert.Equal(t, first, toldOf(t, caller, callee))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Empty(t, other.DifferingInstances())

		kit.Serve(t, callee, kit.Words{})
		time.Sleep(2 * time.Second)
		assert.Len(t, other.DifferingInstances(), 1)
		require.NoError(t, callee.Withdraw(t.Context(), kit.Words{}))
		announced := make(chan bus.Announcement, 10)
		defer caller.WatchAnnouncements(func(a bus.Announcement) { announced <- a })()
		require.NoError(t, callee.Withdraw(t.Context(), one))
		assert.Equal(t, before, toldOf(t, caller, callee))
		synctest.Wait()
		assert.Equal(t, bus.Announcement{Host: callee.Host(), ID: callee.ID()}, <-announced)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Empty(t, other.DifferingInstances())
	})
}

// told is what an instance tells of itself.
type told struct {
	Ports       []int
	Digest      string
	document    string
	permissions string
}

func toldOf(t *testing.T, caller, callee *bus.Conn) (all told) {
	t.Helper()
	instance := "https://" + callee.ID() + "." + callee.Host()
	require.NoError(t, caller.Call(t.Context(), "GET "+instance+":888/ping", nil, &all))
	document, err := callee.OpenAPI()
	require.NoError(t, err)
	permissions, err := callee.Permissions()
	require.NoError(t, err)
	all.document, all.permissions = string(document), permissions.String()
	return all
}

// TestWithdraw_CountsGoOn holds that counters never go back.
func TestWithdraw_CountsGoOn(t *testing.T) {
	t.Parallel()
	w := kit.Transports()["broker"](kit.NewBus(t))
	caller, callee, one := w.Connect("caller.example"), w.Connect(kit.CalculatorHost), newCounter()
	for range 3 {
		kit.Serve(t, callee, one)
		require.NoError(t, caller.Call(t.Context(), countURL, nil, nil))
		require.NoError(t, callee.Withdraw(t.Context(), one))
	}
	kit.Serve(t, callee, one)
	_, body := kit.Do(t, caller, "GET", kit.CalculatorURL+":888/metrics", "", "")
	assert.Regexp(t, `(?m)^busline_server_\w*count{.*endpoint="counter.Count".*} 3$`, body)
}

func TestWithdraw_Refuses(t *testing.T) {
	t.Parallel()
	w := kit.Transports()["broker"](kit.NewBus(t))
	conn, one := w.Connect(kit.CalculatorHost), newCounter()
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	kit.Serve(t, conn, one)
	require.NoError(t, conn.Handle("GET", "/handler", handler))
	require.NoError(t, conn.Withdraw(t.Context(), one))
	for want, impl := range map[string]any{
		"withdraw *serving_test.counter from calculator.example: it is not served by this connection: " +
			"pass the value that was served, the same pointer": one,
		"withdraw http.HandlerFunc from calculator.example: its values cannot be compared, so it is unknown what was served: " +
			"serve and withdraw a pointer": handler,
		"withdraw <nil> from calculator.example: its values cannot be compared": nil,
	} {
		assert.ErrorContains(t, conn.Withdraw(t.Context(), impl), want)
	}
	require.NoError(t, conn.Close(t.Context()))
	assert.ErrorIs(t, conn.Withdraw(t.Context(), one), bus.ErrClosed)
}

// TestWithdraw_WhileClosing holds that both end, in whatever order they come.
func TestWithdraw_WhileClosing(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for range 10 {
			conn, one := w.Connect("late.example", kit.Quiet()), newCounter()
			kit.Serve(t, conn, one)
			withdrawn := make(chan error, 1)
			go func() { withdrawn <- conn.Withdraw(context.Background(), one) }()
			require.NoError(t, conn.Close(context.Background()))
			if err := <-withdrawn; err != nil {
				assert.ErrorIs(t, err, bus.ErrClosed)
			}
		}
	})
}

// TestWithdraw_WhileTheBrokerIsAway holds that what is withdrawn during an outage does not come back after it.
func TestWithdraw_WhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	b, one := kit.NewBus(t), newCounter()
	way := &kit.Fragile{InProcessConnProvider: b.Broker()}
	caller, callee := b.Connect("caller.example"), b.Connect(kit.CalculatorHost, bus.WithBroker(way))
	kit.Serve(t, callee, one)
	kit.Serve(t, callee, kit.Words{})
	require.NoError(t, caller.Call(t.Context(), countURL, nil, nil))
	way.Cut(true)
	kit.Eventually(t, func() bool { return !callee.Connected() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	require.NoError(t, callee.Withdraw(ctx, one))
	way.Come()
	kit.Eventually(t, callee.Connected)
	kit.CheckError(t, caller.Call(t.Context(), countURL, nil, nil), http.StatusServiceUnavailable, bus.ExecutedNo)
	kit.Serve(t, callee, one)
	require.NoError(t, caller.Call(t.Context(), countURL, nil, nil))
	require.NoError(t, caller.Call(t.Context(), kit.CalculatorURL+"/length", bus.Args{"text": "a"}, nil))
}
