package bus_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
)

// TestMulticast_NamesTheSilent has one instance of four ack and not answer.
func TestMulticast_NamesTheSilent(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, real := b.Connect("caller.example"), b.NewCalculators(3)
		slices.Sort(real)
		silent := kit.NewScripted(t, b.World, kit.CalculatorHost, kit.Ack)
		for name, ending := range endings() {
			ctx, cancel := ending.wait(t.Context())
			got := kit.Gather(ctx, t, caller, kit.Everything)
			cancel()
			require.Equal(t, real, got.IDs, name)
			require.Len(t, got.Errors, 1, name)
			kit.WantFailed(t, name, got.Errors[0], ending.acked.status, ending.acked.causes...)
			failed, _ := errors.AsType[*bus.Error](got.Errors[0])
			if named := failed != nil && failed.Host == silent.Host &&
				failed.ID == silent.ID; named != (ending.acked.status == 504) {
				t.Errorf("%s: %+v; %s %s is to be named when it is to blame, and only then", name, failed, silent.Host, silent.ID)
			}
		}
		silent.Raw.Close()
		got := kit.Gather(t.Context(), t, caller, kit.Everything)
		assert.Equal(t, real, got.IDs, "without the silent one")
		assert.Empty(t, got.Errors, "without the silent one")
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestMulticast_LeftEarly takes only some of what comes, with responders unknown and known.
func TestMulticast_LeftEarly(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, all := b.Connect("caller.example"), b.NewCalculators(4)
		slices.Sort(all)
		idle := b.Goroutines()
		for range 3 {
			for limit := 1; limit <= len(all); limit++ {
				got := kit.Gather(t.Context(), t, caller, limit)
				require.Len(t, got.IDs, limit)
				assert.Empty(t, got.Errors)
				left := b.Goroutines() - idle
				assert.Zero(t, left)
				assert.Zero(t, caller.PendingCalls())
				got = kit.Gather(t.Context(), t, caller, kit.Everything)
				assert.Equal(t, all, got.IDs, "the next one")
				assert.Empty(t, got.Errors, "the next one")
			}
		}
	})
}

// TestMulticast_LeftAtTheFirstSilent has two instances that do not answer.
func TestMulticast_LeftAtTheFirstSilent(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		kit.NewScripted(t, b.World, kit.CalculatorHost, kit.Ack)
		other := kit.NewScripted(t, b.World, kit.CalculatorHost, kit.Ack)
		other.ID = "s2aaaaaaaa" // nothing was asked yet
		caller := b.Connect("caller.example")
		for limit := 1; limit <= 2; limit++ {
			got := kit.Gather(t.Context(), t, caller, limit)
			assert.Empty(t, got.IDs)
			assert.Len(t, got.Errors, limit)
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestMulticast_TooLate begins when there is no time left, or no caller that waits.
func TestMulticast_TooLate(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, all := b.Connect("caller.example"), b.NewCalculators(2)
		slices.Sort(all)
		sent := b.Listen(b.Plane() + ".443.>")
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for _, test := range []struct {
			name   string
			ctx    context.Context
			status int
			cause  error
		}{
			{"cancelled", cancelled, 503, context.Canceled},
			{"over", over, 504, context.DeadlineExceeded},
		} {
			got := kit.Gather(test.ctx, t, caller, kit.Everything)
			if len(got.IDs) != 0 || len(got.Errors) != 1 {
				t.Errorf("%s: %v answered, then %v; want one error", test.name, got.IDs, got.Errors)
				continue
			}
			kit.CheckError(t, got.Errors[0], test.status, bus.ExecutedNo)
			failed := kit.AsBusError(t, got.Errors[0])
			if !errors.Is(failed, test.cause) {
				t.Errorf("%s: %v is %+v", test.name, got.Errors[0], failed)
			}
		}
		if synctest.Wait(); len(sent) != 0 {
			t.Errorf("%d requests left", len(sent))
		}
		got := kit.Gather(t.Context(), t, caller, kit.Everything)
		assert.Equal(t, all, got.IDs, "the next one")
		assert.Empty(t, got.Errors, "the next one")
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestMulticast_EndedByClose closes the caller while an instance has not answered: its own call fails and says why.
func TestMulticast_EndedByClose(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		silent := kit.NewScripted(t, w, kit.CalculatorHost, kit.Ack)
		var got kit.Gathered
		for response, err := range caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) {
			if err != nil {
				got.Errors = append(got.Errors, err)
				continue
			}
			got.IDs = append(got.IDs, response.Header.Get("Bus-From-Id"))
			<-silent.Received
			kit.Flush(t, silent.Raw)
			// its answer comes after the ack of the silent one
			kit.MulticastIDs(t, caller, "https://"+callee.ID()+"."+kit.CalculatorHost+"/add")
			closeNow(t, caller)
		}
		require.Equal(t, []string{callee.ID()}, got.IDs)
		require.Len(t, got.Errors, 1)
		kit.WantFailed(t, "the multicast", got.Errors[0], 503, bus.ErrClosed)
		for _, err := range caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) {
			kit.CheckError(t, err, 503, bus.ExecutedNo)
			if failed := kit.AsBusError(t, err); !errors.Is(failed, bus.ErrClosed) {
				t.Errorf("afterwards: %v", err)
			}
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// closeNow closes a connection that makes one call, without waiting for it.
func closeNow(t *testing.T, conn *bus.Conn) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := conn.Close(ctx)
	assert.ErrorIs(t, err, context.Canceled, "Close")
	assert.ErrorContains(t, err, "cut off 0 handlers and 1 call:", "Close")
}

// serveQuick serves GET /all of slow.example on another instance, which answers after half a second.
func serveQuick(t *testing.T, b *kit.Bubble) {
	t.Helper()
	err := b.Connect("slow.example").Handle("GET", "/all", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		<-time.After(time.Second / 2)
	}), bus.NoQueue())
	require.NoError(t, err)
}

// TestMulticast_ResponderThatLeaves leaves the loop over the answers at the first one, in each way there is: the
// instances that owe an answer hear of it.
func TestMulticast_ResponderThatLeaves(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		one, other := kit.ServeWaiting(t, b.Connect("slow.example")), kit.ServeWaiting(t, b.Connect("slow.example"))
		serveQuick(t, b)
		operation := bus.NewOperation[struct{}, struct{}](caller, "GET https://slow.example/all")
		boom := errors.New("boom")
		for name, leave := range map[string]func(){
			"break": func() {
				for _, err := range caller.Multicast(kit.MustRequest(t, "https://slow.example/all")) {
					assert.NoError(t, err)
					break
				}
			},
			"break out of an operation": func() {
				for _, err := range operation.Multicast(t.Context(), struct{}{}) {
					assert.NoError(t, err)
					break
				}
			},
			"a panic": func() {
				defer func() {
					if reason, ok := recover().(error); !ok || !errors.Is(reason, boom) {
						t.Error(reason)
					}
				}()
				for _, err := range caller.Multicast(kit.MustRequest(t, "https://slow.example/all")) {
					panic(errors.Join(boom, err))
				}
			},
		} {
			leave()
			kit.WantCancelled(t, name+": one", one, time.Second/2)
			kit.WantCancelled(t, name+": the other", other, time.Second/2)
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d calls are still open", open)
		}
	})
}

// TestHello_WaitsForOthers holds that a connection does not greet while the greetings of others are still to be taken.
func TestHello_WaitsForOthers(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		first, second := b.Connect("first.example"), b.Connect("second.example")
		synctest.Wait()
		hellos := b.Listen(subject.Subscription(b.Plane(), "888", "all", "POST", "hello"))
		release := bus.HoldIntake(first)
		served := make(chan error, 2)
		for _, conn := range []*bus.Conn{first, second} {
			go func() { served <- bus.Serve(conn, kit.Calculator{ID: conn.ID()}) }()
		}
		synctest.Wait()
		assert.Empty(t, hellos, "%d, %d", len(hellos), len(served))
		assert.Empty(t, served, "%d, %d", len(hellos), len(served))
		release()
		for range cap(served) {
			assert.NoError(t, <-served)
		}
		synctest.Wait()
		if len(hellos) != cap(served) {
			t.Errorf("%d hellos of %d services", len(hellos), cap(served))
		}
	})
}
