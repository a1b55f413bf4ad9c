package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// tapOf asks one instance for its calls.
type tapOf struct {
	from *bus.Conn
	url  string
	next int64
}

type tapAnswer struct {
	Calls        []bus.CallRecord
	Next, Missed int64
}

func (p *tapOf) ask(ctx context.Context, wait time.Duration) (answer tapAnswer, err error) {
	err = p.from.Call(ctx, p.url, bus.Args{"after": p.next, "wait": wait}, &answer)
	p.next = answer.Next
	return answer, err
}

func newTapOf(t *testing.T, from, at *bus.Conn) *tapOf {
	t.Helper()
	p := &tapOf{from, "GET https://" + at.ID() + "." + at.Host() + ":888/tap", -1}
	answer, err := p.ask(t.Context(), time.Hour)
	require.NoError(t, err, "at the start")
	require.LessOrEqual(t, len(answer.Calls), 0, "at the start")
	return p
}

func TestTap(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		w.AllowUnknownFields()
		caller, callee := kit.NewCalculator(t, w)
		kit.Add(t, caller, kit.CalculatorHost) // before a client taps
		served, made := newTapOf(t, w.Connect("tap.example"), callee), newTapOf(t, w.Connect("tap.example"), caller)
		_ = caller.Call(t.Context(), kit.CalculatorURL+"/divide?secret=1", bus.Args{"x": 1}, nil)
		_ = caller.Call(t.Context(), "https://nobody.example/x", nil, nil)
		answer, err := served.ask(t.Context(), 10*time.Second)
		if err != nil || len(answer.Calls) != 1 || answer.Missed != 0 {
			t.Fatal(answer, err)
		}
		got := answer.Calls[0]
		assert.Equal(t, "caller.example", got.From, "served")
		assert.Equal(t, caller.ID(), got.FromID, "served")
		assert.Equal(t, kit.CalculatorHost, got.To, "served")
		assert.Equal(t, callee.ID(), got.ToID, "served")
		assert.Equal(t, 443, got.Port, "served")
		assert.Equal(t, "POST", got.Method, "served")
		assert.Equal(t, "/divide", got.Path, "served")
		assert.Equal(t, 422, got.Status, "served")
		assert.Positive(t, got.Took, "served")
		assert.NotEmpty(t, got.MsgID, "served")
		assert.Equal(t, 1, got.Depth, "served")
		assert.False(t, got.Ended.IsZero(), "served")
		_ = caller.Call(t.Context(), kit.CalculatorURL+"/nothing", nil, nil)
		_ = caller.Call(t.Context(), "DELETE "+kit.CalculatorURL+"/divide", nil, nil)
		if answer, err = made.ask(t.Context(), 0); err != nil || len(answer.Calls) != 3 {
			t.Fatal(answer, err)
		}
		for i, want := range []struct {
			to     string
			status int
		}{{"nobody.example", 503}, {kit.CalculatorHost, 404}, {kit.CalculatorHost, 405}} {
			got := answer.Calls[i]
			assert.Equal(t, want.to, got.To, "made")
			assert.Empty(t, got.ToID, "made")
			assert.Equal(t, want.status, got.Status, "made")
		}
		// one that waits is told at once
		told := make(chan tapAnswer, 1)
		go func() {
			answer, _ := served.ask(t.Context(), 10*time.Second)
			told <- answer
		}()
		kit.Add(t, caller, kit.CalculatorHost)
		answer = <-told
		require.Len(t, answer.Calls, 1)
		assert.Equal(t, "/add", answer.Calls[0].Path)
		answer, err = served.ask(t.Context(), time.Nanosecond)
		require.NoError(t, err, "when nothing was called")
		assert.Empty(t, answer.Calls, "when nothing was called")
	})
}

// TestTap_IsBounded makes more calls than are kept, and comes back too late.
func TestTap_IsBounded(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	callee, caller := b.Connect(kit.CalculatorHost), b.Connect("caller.example")
	kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
	tapped := newTapOf(t, b.Connect("tap.example"), callee)
	kit.Add(t, caller, kit.CalculatorHost) // so that what is kept does not begin at a round number
	_, err := tapped.ask(t.Context(), 0)
	require.NoError(t, err)
	const kept, more = 4096, 10
	for range kept + more {
		kit.Add(t, caller, kit.CalculatorHost)
	}
	answer, err := tapped.ask(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, int64(more), answer.Missed)
	assert.Len(t, answer.Calls, kept)
	for i, call := range answer.Calls[1:] {
		if call.Ended.Before(answer.Calls[i].Ended) {
			t.Fatalf("call %d ended before that which came before it", i+1)
		}
	}
}

// TestTap_KeepsNoQueries taps calls with long queries, of which a record must not be a piece: there are thousands of
// records.
func TestTap_KeepsNoQueries(t *testing.T) { //nolint:paralleltest // measures the memory of the whole process
	for _, shortCircuit := range []bool{true, false} {
		b := kit.NewBus(t)
		callee, caller := b.Connect("library.example"), b.Connect("caller.example", kit.WithShortCircuit(shortCircuit))
		require.NoError(t, callee.Handle(http.MethodGet, "/books/{id}",
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
		newTapOf(t, b.Connect("tap.example"), callee)
		const calls, size = 200, 64 << 10
		before := memoryInUse()
		for id := range calls {
			kit.Do(t, caller, http.MethodGet, fmt.Sprintf("https://library.example/books/%d?q=%s", id,
				strings.Repeat("q", size)), "", "")
		}
		if kept := memoryInUse() - before; kept > calls*size/2 {
			t.Errorf("short circuit %t: %d calls keep %d bytes", shortCircuit, calls, kept)
		}
	}
}

// TestTap_DoesNotHoldClose closes an instance while a client waits for its calls.
func TestTap_DoesNotHoldClose(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		_, callee := kit.NewCalculator(t, w)
		tapped := newTapOf(t, w.Connect("tap.example"), callee)
		ended := make(chan error, 1)
		go func() {
			_, err := tapped.ask(t.Context(), 10*time.Second)
			ended <- err
		}()
		for bus.RunningControls(callee) == 0 { // it has to be there first
			runtime.Gosched()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		assert.NoError(t, callee.Close(ctx))
		if err := <-ended; err != nil && !errors.Is(err, bus.ErrNoResponder) {
			t.Error(fmt.Errorf("who waited: %w", err))
		}
	})
}

// TestTap_BoundsWaitingReaders asks so often that not all can wait, which would cost the instance without end.
func TestTap_BoundsWaitingReaders(t *testing.T) {
	t.Parallel()
	const most = 64
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		asked := newTapOf(t, w.Connect("tap.example"), callee)
		ended := make(chan error, 2*most)
		for range 2 * most {
			one := *asked
			go func() {
				_, err := one.ask(t.Context(), 10*time.Second)
				ended <- err
			}()
		}
		for range most {
			if err := <-ended; bus.StatusOf(err) != 503 {
				t.Errorf("one too many: %v", err)
			}
		}
		kit.Add(t, caller, kit.CalculatorHost)
		for range most {
			if err := <-ended; err != nil {
				t.Errorf("one that waits: %v", err)
			}
		}
	})
}

// TestTap_DoesNotHoldMulticasts taps a caller that knows who will answer it.
func TestTap_DoesNotHoldMulticasts(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, all := b.Connect("caller.example"), b.NewCalculators(3)
		kit.Gather(t.Context(), t, caller, kit.Everything)
		kit.Gather(t.Context(), t, caller, kit.Everything)
		tapped := newTapOf(t, b.Connect("tap.example"), caller)
		ended := make(chan error, 1)
		go func() {
			_, err := tapped.ask(t.Context(), 10*time.Second)
			ended <- err
		}()
		synctest.Wait()
		began := time.Now()
		got := kit.Gather(t.Context(), t, caller, kit.Everything)
		took := time.Since(began)
		require.Len(t, got.IDs, len(all))
		assert.Empty(t, got.Errors)
		assert.LessOrEqual(t, took, time.Millisecond)
		assert.NoError(t, <-ended)
	})
}
