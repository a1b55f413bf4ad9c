package calls_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestCancel_TellsItsCause has callers go away, before a call or an event and during it, with contexts that have a
// cause of their own.
func TestCancel_TellsItsCause(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, why := b.Connect("caller.example"), errors.New("the user has closed the page")
		ends := kit.ServeWaiting(t, b.Connect("slow.example"))
		for what, call := range map[string]func(ctx context.Context) error{
			"the call": func(ctx context.Context) error {
				return caller.Call(ctx, "GET https://slow.example/wait", nil, nil)
			},
			"the multicast": func(ctx context.Context) (err error) {
				for _, err = range caller.Multicast(kit.MustRequest(t, "https://slow.example/all").WithContext(ctx)) {
					continue
				}
				return err
			},
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(why) })
			during := call(ctx)
			kit.WantCancelled(t, what, ends, time.Second)
			for when, err := range map[string]error{"before": call(ctx), "during": during} {
				assert.Equal(t, 503, bus.StatusOf(err), "%s, cancelled %s it", what, when)
				assert.ErrorIs(t, err, context.Canceled, "%s, cancelled %s it", what, when)
				assert.ErrorIs(t, err, why, "%s, cancelled %s it", what, when)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		err := events.Publish(ctx, caller, "https://caller.example:417/on-closed", nil)
		assert.Equal(t, 503, bus.StatusOf(err), "the event")
		assert.ErrorIs(t, err, context.Canceled, "the event")
		assert.ErrorIs(t, err, why, "the event")
	})
}

// TestMulticast_Canceled has its caller go away: each instance that owes an answer hears of it.
func TestMulticast_Canceled(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		one, other := kit.ServeWaiting(t, b.Connect("slow.example")), kit.ServeWaiting(t, b.Connect("slow.example"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute/4, cancel)
		failed := 0
		for _, err := range caller.Multicast(kit.MustRequest(t, "https://slow.example/all").WithContext(ctx)) {
			failed++
			kit.WantFailed(t, "the multicast", err, 503, context.Canceled)
		}
		if failed != 1 {
			t.Errorf("%d errors, want one", failed)
		}
		kit.WantCancelled(t, "one", one, time.Minute/4)
		kit.WantCancelled(t, "the other", other, time.Minute/4)
	})
}

// TestCancel_GoesDownTheChain cancels a call that waits for a call.
func TestCancel_GoesDownTheChain(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, front := b.Connect("caller.example"), b.Connect("front.example")
		ends := kit.ServeWaiting(t, b.Connect("slow.example"))
		err := front.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, front.Call(r.Context(), "GET https://slow.example/wait", nil, nil))
		}))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		kit.WantFailed(t, "the call", caller.Call(ctx, "GET https://front.example/", nil, nil), 503, context.Canceled)
		kit.WantCancelled(t, "at the end of the chain", ends, time.Second)
	})
}

// TestCancel_WhenTheBudgetEnds gives an endpoint less time than it asks for: it is told, too, whichever clock is first.
func TestCancel_WhenTheBudgetEnds(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		cancels := b.Listen(b.Plane() + ".888.example.scripted." + kit.ScriptedID + ".|.POST.cancel")
		kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
		caller := b.Connect("caller.example")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		kit.WantFailed(t, "the call", caller.Call(ctx, kit.ScriptedURL, nil, nil), 504, bus.ErrTimeout,
			context.DeadlineExceeded)
		synctest.Wait()
		if len(cancels) != 1 {
			t.Errorf("%d cancels were sent, want one", len(cancels))
		}
		var none struct{ N int }
		err := caller.Call(t.Context(), "GET https://nobody.example/who", nil, &none)
		assert.ErrorIs(t, err, bus.ErrNoResponder)
		assert.Len(t, cancels, 1)
	})
}
