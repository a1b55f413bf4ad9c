package bus_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// TestProbe_LostInstanceEndsTheCall has an instance die at different moments after its ack.
func TestProbe_LostInstanceEndsTheCall(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		for _, test := range []struct{ dies, ends time.Duration }{
			{time.Millisecond, 1400 * time.Millisecond},
			{999 * time.Millisecond, 1400 * time.Millisecond},
			{1001 * time.Millisecond, 2400 * time.Millisecond},
			{5500 * time.Millisecond, 6400 * time.Millisecond},
		} {
			server := kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
			begun := time.Now()
			server.Dies(test.dies)
			kit.WantLost(t, test.dies.String(), caller.Call(t.Context(), kit.ScriptedURL, nil, nil))
			if took := time.Since(begun); took != test.ends {
				t.Errorf("dead after %s, and the call ended after %s, want %s", test.dies, took, test.ends)
			}
			if open := caller.PendingCalls(); open != 0 {
				t.Errorf("%d slots are left open", open)
			}
		}
	})
}

// TestMulticast_LostInstance loses one of three: the others are heard.
func TestMulticast_LostInstance(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		b.NewCalculators(2)
		server := kit.NewScripted(t, b.World, kit.CalculatorHost, kit.Ack)
		server.Dies(100 * time.Millisecond)
		answers := 0
		begun := time.Now()
		for response, err := range caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) {
			if err != nil {
				kit.WantLost(t, "the multicast", err)
				continue
			}
			if response.StatusCode == 200 {
				answers++
			}
		}
		took := time.Since(begun)
		assert.Equal(t, 2, answers)
		assert.Equal(t, 1400*time.Millisecond, took)
	})
}

// TestProbe_LiveInstanceIsWaitedFor asks for a while, and once the instance is away for a moment.
func TestProbe_LiveInstanceIsWaitedFor(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee := b.Connect("caller.example"), b.Connect("slow.example")
		server := kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
		asked := b.Listen(b.Plane() + ".r.example.scripted." + kit.ScriptedID)
		for _, path := range []string{"/slow", "/all"} {
			err := callee.Handle("GET", path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(10 * time.Second)
				w.WriteHeader(http.StatusNoContent)
			}), bus.NoQueue())
			require.NoError(t, err)
		}
		if err := caller.Call(t.Context(), "GET https://slow.example/slow", nil, nil); err != nil {
			t.Errorf("a slow call: %v", err)
		}
		if ids := kit.MulticastIDs(t, caller, "https://slow.example/all"); len(ids) != 1 {
			t.Errorf("a slow multicast is answered by %v", ids)
		}
		if dropped := callee.Stats().Malformed + caller.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
		_ = server
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		kit.WantFailed(t, "a silent instance", caller.Call(ctx, kit.ScriptedURL, nil, nil), 504, bus.ErrTimeout, context.DeadlineExceeded)
		if synctest.Wait(); len(asked) != 5 {
			t.Errorf("asked %d times in 5.5 s", len(asked))
		}
		if watched := caller.WatchedInstances(); watched != 0 {
			t.Errorf("%d instances are still watched when all calls have ended", watched)
		}
	})
}

// TestProbe_ForgedLossIsIgnored has others say in the broker's place that an instance is gone.
func TestProbe_ForgedLossIsIgnored(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		requests, asked := b.Listen(b.Plane()+".443.>"), b.Listen(b.Plane()+".r.example.scripted.>")
		kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
		evil := kit.RawClient(t, b.World)
		forge := func(to string) {
			assert.NoError(t, evil.PublishMsg(&nats.Msg{Subject: to, Header: nats.Header{"Status": {"503"}}}))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var forging sync.WaitGroup
		forging.Go(func() {
			request := <-requests
			response := strings.TrimSuffix(request.Reply, request.Reply[strings.LastIndexByte(request.Reply, '.'):])
			for range 20 {
				time.Sleep(200 * time.Millisecond)
				forge(request.Reply)
				forge(response + ".GUESS")
				forge(response)
				for len(asked) > 1 { // one who listens in, and is late
					forge((<-asked).Reply)
				}
			}
		})
		kit.WantFailed(t, "the call", caller.Call(ctx, kit.ScriptedURL, nil, nil), 504, bus.ErrTimeout, context.DeadlineExceeded)
		forging.Wait()
	})
}
