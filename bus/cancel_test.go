package bus_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestCancel_EndsTheHandler has callers go away.
func TestCancel_EndsTheHandler(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee := b.Connect("caller.example"), b.Connect("slow.example")
		ends := kit.ServeWaiting(t, callee)
		for _, host := range []string{"slow.example", callee.ID() + ".slow.example"} {
			for _, path := range []string{"/wait", "/all"} {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(300*time.Millisecond, cancel)
				err := caller.Call(ctx, "GET https://"+host+path, nil, nil)
				kit.WantFailed(t, host+path, err, 503, context.Canceled)
				kit.WantCancelled(t, host+path, ends, 300*time.Millisecond)
			}
		}
		if left := bus.RunningRequests(callee); left != 0 {
			t.Errorf("%d requests are remembered", left)
		}
		if dropped := caller.Stats().Malformed + callee.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
	})
}

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
		err := caller.Publish(ctx, "https://caller.example:417/on-closed", nil)
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
		kit.WantFailed(t, "the call", caller.Call(ctx, kit.ScriptedURL, nil, nil), 504, bus.ErrTimeout, context.DeadlineExceeded)
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

// TestCancel_OnlyByTheCaller has others say that it has left.
func TestCancel_OnlyByTheCaller(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee, other := b.Connect("caller.example"), b.Connect("slow.example"), b.Connect("caller.example")
		ids, ends := make(chan string, 1), make(chan error, 1)
		err := callee.Handle("GET", "/wait", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "0")
			from, _ := bus.CallerOf(r.Context())
			ids <- from.MsgID
			<-r.Context().Done()
			ends <- context.Cause(r.Context())
		}))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		called := make(chan error, 1)
		go func() { called <- caller.Call(ctx, "GET https://slow.example/wait", nil, nil) }()
		id := <-ids
		at := "POST https://" + callee.ID() + ".slow.example:888/cancel"
		for _, who := range []*bus.Conn{other, callee} {
			assert.NoError(t, who.Call(t.Context(), at, bus.Args{"id": id}, nil))
		}
		for _, unknown := range []string{"", "unknown", id + "A"} {
			assert.NoError(t, caller.Call(t.Context(), at, bus.Args{"id": unknown}, nil))
		}
		if synctest.Wait(); len(ends) != 0 {
			t.Fatalf("another client has cancelled the call: %v", <-ends)
		}
		if held := bus.RunningRequests(callee); held != 1 {
			t.Errorf("%d requests are remembered, want the one that runs", held)
		}
		assert.NoError(t, caller.Call(t.Context(), at, bus.Args{"id": id}, nil))
		if cause := <-ends; !errors.Is(cause, bus.ErrCallerLeft) {
			t.Errorf("the handler ended because of %v", cause)
		}
		if err := <-called; err != nil {
			t.Errorf("the handler has answered, and the call got %v", err)
		}
	})
}

// TestCancel_OfOneOfTwo has two callers that are not ours give their requests the same id, and the first one leave.
func TestCancel_OfOneOfTwo(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee, ends := b.Connect("slow.example"), make(chan string, 2)
		err := callee.Handle("GET", "/wait", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "0")
			from, _ := bus.CallerOf(r.Context())
			<-r.Context().Done()
			ends <- from.Host + ": " + context.Cause(r.Context()).Error()
		}))
		require.NoError(t, err)
		raw := kit.RawClient(t, b.World)
		send := func(from, method, host string, port int, target string) {
			path, _, _ := strings.Cut(target, "?")
			to, err := subject.Address{Port: port, Host: host, Method: method, Path: path}.Subject(b.Plane())
			if err != nil {
				t.Fatal(err)
			}
			request := &wire.Request{Method: method, Target: target, Host: host, FromHost: from, FromID: kit.ScriptedID, MsgID: "1", TimeBudget: time.Minute, CallDepth: 1}
			if err := raw.Publish(to, wire.AppendRequest(nil, request)); err != nil {
				t.Fatal(err)
			}
		}
		callers := []string{"first.example", "second.example"}
		for _, caller := range callers {
			send(caller, "GET", "slow.example", 443, "/wait")
		}
		for i, caller := range callers {
			synctest.Wait()
			if running := bus.RunningRequests(callee); running != len(callers)-i {
				t.Errorf("%d requests can be cancelled, want %d", running, len(callers)-i)
			}
			send(caller, "POST", callee.ID()+".slow.example", 888, "/cancel?id=1")
			if got, want := <-ends, caller+": "+bus.ErrCallerLeft.Error(); got != want {
				t.Errorf("%s left, and the handler of %s has ended", caller, got)
			}
		}
	})
}
