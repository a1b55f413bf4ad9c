package bus_test

import (
	"context"
	"errors"
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
)

// dies closes a server's connection to the broker, as kill -9 does, when it is to.
func (s *scripted) dies(after time.Duration) { time.AfterFunc(after, s.raw.Close) }

func wantLost(t *testing.T, what string, err error) {
	t.Helper()
	wantFailed(t, what, err, 504, bus.ErrInstanceLost)
	if failed, _ := errors.AsType[*bus.Error](err); failed != nil && (failed.ID != scriptedID || !strings.Contains(failed.Detail, "is gone")) {
		t.Errorf("%s: %+v", what, failed)
	}
}

// TestProbe_LostInstanceEndsTheCall has an instance die at different moments after its ack.
func TestProbe_LostInstanceEndsTheCall(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example")
		for _, test := range []struct{ dies, ends time.Duration }{
			{time.Millisecond, 1400 * time.Millisecond},
			{999 * time.Millisecond, 1400 * time.Millisecond},
			{1001 * time.Millisecond, 2400 * time.Millisecond},
			{5500 * time.Millisecond, 6400 * time.Millisecond},
		} {
			server := newScripted(t, b.testBus, scriptedHost, ack)
			begun := time.Now()
			server.dies(test.dies)
			wantLost(t, test.dies.String(), caller.Call(t.Context(), scriptedURL, nil, nil))
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
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example")
		b.newCalculators(2)
		server := newScripted(t, b.testBus, calculatorHost, ack)
		server.dies(100 * time.Millisecond)
		answers := 0
		begun := time.Now()
		for response, err := range caller.Multicast(mustRequest(t, calculatorURL+"/who")) {
			if err != nil {
				wantLost(t, "the multicast", err)
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
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, callee := b.connect("caller.example"), b.connect("slow.example")
		server := newScripted(t, b.testBus, scriptedHost, ack)
		asked := b.listen(b.Plane() + ".r.example.scripted." + scriptedID)
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
		if ids := publish(t, caller, "https://slow.example/all"); len(ids) != 1 {
			t.Errorf("a slow multicast is answered by %v", ids)
		}
		if dropped := callee.Stats().Malformed + caller.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
		_ = server
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		wantFailed(t, "a silent instance", caller.Call(ctx, scriptedURL, nil, nil), 504, bus.ErrTimeout, context.DeadlineExceeded)
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
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example")
		requests, asked := b.listen(b.Plane()+".443.>"), b.listen(b.Plane()+".r.example.scripted.>")
		newScripted(t, b.testBus, scriptedHost, ack)
		evil := rawClient(t, b.testBus)
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
		wantFailed(t, "the call", caller.Call(ctx, scriptedURL, nil, nil), 504, bus.ErrTimeout, context.DeadlineExceeded)
		forging.Wait()
	})
}
