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
	"github.com/busline/busline/bus/wire"
)

// ended is how a handler's context ended, and when.
type ended struct {
	id         string
	err, cause error
	derived    error // the cause of a context made of it
	after      time.Duration
}

// serveWaiting serves GET /wait, which waits for the end of its context, and GET /all, which does so on every instance.
func serveWaiting(t *testing.T, conn *bus.Conn) <-chan ended {
	t.Helper()
	ends := make(chan ended, 16)
	wait := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		derived, cancel := context.WithTimeout(r.Context(), time.Hour)
		defer cancel()
		<-derived.Done()
		ends <- ended{conn.ID(), r.Context().Err(), context.Cause(r.Context()), context.Cause(derived), time.Since(begun)}
	})
	require.NoError(t, conn.Handle("GET", "/wait", wait))
	require.NoError(t, conn.Handle("GET", "/all", wait, bus.NoQueue()))
	return ends
}

func wantCancelled(t *testing.T, what string, ends <-chan ended, after time.Duration) {
	t.Helper()
	synctest.Wait()
	select {
	case end := <-ends:
		assert.ErrorIs(t, end.err, context.Canceled, what)
		assert.ErrorIs(t, end.cause, bus.ErrCallerLeft, what)
		assert.ErrorIs(t, end.derived, bus.ErrCallerLeft, what)
		assert.Equal(t, after, end.after, what)
	default:
		t.Errorf("%s: the handler still runs", what)
	}
}

// TestCancel_EndsTheHandler has callers go away.
func TestCancel_EndsTheHandler(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, callee := b.connect("caller.example"), b.connect("slow.example")
		ends := serveWaiting(t, callee)
		for _, host := range []string{"slow.example", callee.ID() + ".slow.example"} {
			for _, path := range []string{"/wait", "/all"} {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(300*time.Millisecond, cancel)
				err := caller.Call(ctx, "GET https://"+host+path, nil, nil)
				wantFailed(t, host+path, err, 503, context.Canceled)
				wantCancelled(t, host+path, ends, 300*time.Millisecond)
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
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, why := b.connect("caller.example"), errors.New("the user has closed the page")
		ends := serveWaiting(t, b.connect("slow.example"))
		for what, call := range map[string]func(ctx context.Context) error{
			"the call": func(ctx context.Context) error {
				return caller.Call(ctx, "GET https://slow.example/wait", nil, nil)
			},
			"the multicast": func(ctx context.Context) (err error) {
				for _, err = range caller.Multicast(mustRequest(t, "https://slow.example/all").WithContext(ctx)) {
					continue
				}
				return err
			},
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(why) })
			during := call(ctx)
			wantCancelled(t, what, ends, time.Second)
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
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example")
		one, other := serveWaiting(t, b.connect("slow.example")), serveWaiting(t, b.connect("slow.example"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute/4, cancel)
		failed := 0
		for _, err := range caller.Multicast(mustRequest(t, "https://slow.example/all").WithContext(ctx)) {
			failed++
			wantFailed(t, "the multicast", err, 503, context.Canceled)
		}
		if failed != 1 {
			t.Errorf("%d errors, want one", failed)
		}
		wantCancelled(t, "one", one, time.Minute/4)
		wantCancelled(t, "the other", other, time.Minute/4)
	})
}

// TestCancel_GoesDownTheChain cancels a call that waits for a call.
func TestCancel_GoesDownTheChain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, front := b.connect("caller.example"), b.connect("front.example")
		ends := serveWaiting(t, b.connect("slow.example"))
		err := front.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, front.Call(r.Context(), "GET https://slow.example/wait", nil, nil))
		}))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		wantFailed(t, "the call", caller.Call(ctx, "GET https://front.example/", nil, nil), 503, context.Canceled)
		wantCancelled(t, "at the end of the chain", ends, time.Second)
	})
}

// TestCancel_WhenTheBudgetEnds gives an endpoint less time than it asks for: it is told, too, whichever clock is first.
func TestCancel_WhenTheBudgetEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		cancels := b.listen(b.Plane() + ".888.example.scripted." + scriptedID + ".|.POST.cancel")
		newScripted(t, b.testBus, scriptedHost, ack)
		caller := b.connect("caller.example")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		wantFailed(t, "the call", caller.Call(ctx, scriptedURL, nil, nil), 504, bus.ErrTimeout, context.DeadlineExceeded)
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
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, callee, other := b.connect("caller.example"), b.connect("slow.example"), b.connect("caller.example")
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
	inBubble(t, func(t *testing.T, b *bubble) {
		callee, ends := b.connect("slow.example"), make(chan string, 2)
		err := callee.Handle("GET", "/wait", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "0")
			from, _ := bus.CallerOf(r.Context())
			<-r.Context().Done()
			ends <- from.Host + ": " + context.Cause(r.Context()).Error()
		}))
		require.NoError(t, err)
		raw := rawClient(t, b.testBus)
		send := func(from, method, host string, port int, target string) {
			path, _, _ := strings.Cut(target, "?")
			to, err := subject.Address{Port: port, Host: host, Method: method, Path: path}.Subject(b.Plane())
			if err != nil {
				t.Fatal(err)
			}
			request := &wire.Request{Method: method, Target: target, Host: host, FromHost: from, FromID: scriptedID, MsgID: "1", TimeBudget: time.Minute, CallDepth: 1}
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
