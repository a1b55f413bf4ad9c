// Package multicast_test has calls to all instances of a host: who is waited for, and how one ends.
package multicast_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestMulticast_NoneLost has instances answer at the very moment at which the budget ends: each of them is yielded, as
// a response or as an error.
func TestMulticast_NoneLost(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		const budget, count = time.Second, 20
		caller := b.Connect("caller.example")
		for i := range count {
			late := kit.NewScripted(t, b.World, kit.CalculatorHost, kit.Ack)
			answer := &kit.Scripted{Host: late.Host, ID: fmt.Sprintf("%c1aaaaaaaa", 'a'+i), Plane: late.Plane, Raw: late.Raw,
				Script: []wire.OpCode{kit.Res}}
			late.ID = answer.ID
			_, err := late.Raw.Subscribe(b.Plane()+".443.>", func(message *nats.Msg) {
				time.AfterFunc(budget, func() { answer.Receive(message) })
			})
			require.NoError(t, err)
			kit.Flush(t, late.Raw)
		}
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), budget)
			got := kit.Gather(ctx, t, caller, kit.Everything)
			cancel()
			if len(got.IDs)+len(got.Errors) != count {
				t.Errorf("%d responses and %d errors of %d instances", len(got.IDs), len(got.Errors), count)
			}
		}
	})
}

// newCrowd serves GET /who and GET /context by two instances.
func newCrowd(b *kit.Bubble) {
	b.T.Helper()
	for range 2 {
		conn := b.Connect(kit.CalculatorHost)
		kit.Serve(b.T, conn, kit.Calculator{ID: conn.ID()}, bus.Method("Who", bus.NoQueue()),
			bus.Method("Context", bus.NoQueue()))
	}
}

// TestMulticast_KilledInstanceIsWaitedForOnce kills an instance that has announced itself.
func TestMulticast_KilledInstanceIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		newCrowd(b)
		raw := kit.RawClient(t, b.World)
		killed := slow{host: kit.CalculatorHost, id: "s1aaaaaaaa"}
		killed.serve(t, raw, b.Plane())
		caller := b.Connect("caller.example")
		greet(b, killed)
		raw.Close()
		synctest.Wait()
		ids, took := publishFor(t, caller, kit.CalculatorURL+"/who")
		require.Len(t, ids, 2)
		assert.GreaterOrEqual(t, took, 250*time.Millisecond)
		ids, took = publishFor(t, caller, kit.CalculatorURL+"/context")
		require.Len(t, ids, 2)
		assert.LessOrEqual(t, took, 20*time.Millisecond)
	})
}

// TestMulticast_StalledInstanceIsExpectedAgain has an instance that misses one multicast, and is slow at the next.
func TestMulticast_StalledInstanceIsExpectedAgain(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		const id = "s1aaaaaaaa"
		newCrowd(b)
		newSlow(b, slow{host: kit.CalculatorHost, id: id, takes: 300 * time.Millisecond})
		newSlow(b, slow{host: kit.CalculatorHost, id: id, path: "context", takes: 200 * time.Millisecond})
		caller := b.Connect("caller.example")
		if ids := kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"); slices.Contains(ids, id) {
			t.Fatalf("%v answered: nothing is learnt from this test", ids)
		}
		time.Sleep(time.Second) // on the clock of the bubble
		if ids := kit.MulticastIDs(t, caller, kit.CalculatorURL+"/context"); !slices.Contains(ids, id) {
			t.Errorf("only %v answered", ids)
		}
	})
}

// TestMulticast_QueueAnswersForItsInstances calls an endpoint with a queue: that one instance alone has acked says
// nothing of the others.
func TestMulticast_QueueAnswersForItsInstances(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		const id = "s1aaaaaaaa"
		newCrowd(b)
		newSlow(b, slow{host: kit.CalculatorHost, id: id, takes: 200 * time.Millisecond})
		caller := b.Connect("caller.example")
		if ids := kit.MulticastIDs(t, caller, kit.CalculatorURL+"/add?x=1&y=2"); len(ids) != 1 {
			t.Fatalf("%v answered, want one of the queue", ids)
		}
		if ids := kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"); !slices.Contains(ids, id) {
			t.Errorf("only %v answered", ids)
		}
	})
}

// TestMulticast_EndCancelsNone listens for cancels while multicasts end by themselves, and while one is left when all
// have answered.
func TestMulticast_EndCancelsNone(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, ids := b.Connect("caller.example"), b.NewCalculators(3)
		asked := b.Listen(b.Plane() + ".888.>")
		for range 3 { // the first one learns who is there
			for _, limit := range []int{kit.Everything, len(ids)} {
				got := kit.Gather(t.Context(), t, caller, limit)
				require.Len(t, got.IDs, len(ids))
				assert.Empty(t, got.Errors)
			}
		}
		synctest.Wait()
		for range len(asked) {
			if to := (<-asked).Subject; strings.HasSuffix(to, ".cancel") { // and no hello that comes late
				t.Errorf("sent: %s", to)
			}
		}
	})
}

// TestInstances_ThatNameOneQueueAllCount multicasts to instances, not ours, that answer without a queue and say the
// hostname in Bus-Queue, as one may read the interface. Each response counts, whichever instance acks first, and also
// once it is known who answers.
func TestInstances_ThatNameOneQueueAllCount(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		want := []string{"q1aaaaaaaa", "q2aaaaaaaa", "q3aaaaaaaa"}
		order, raw := slices.Clone(want), kit.RawClient(t, b.World)
		_, err := raw.Subscribe(subject.Subscription(b.Plane(), "443", kit.CalculatorHost, "GET", "who"), func(m *nats.Msg) {
			var request wire.Request
			if err := wire.ParseRequest(m.Data, &request); err != nil {
				t.Error(err)
				return
			}
			for _, said := range []wire.Response{{Status: 202, OpCode: kit.Ack}, {Status: 200, OpCode: kit.Res}} {
				for _, id := range order {
					said.FromHost, said.FromID, said.MsgID, said.Queue = kit.CalculatorHost, id, request.MsgID, kit.CalculatorHost
					_ = raw.Publish(subject.Response(b.Plane(), request.FromHost, request.FromID), wire.AppendResponse(nil, &said))
				}
			}
			order = append(order[1:], order[0])
		})
		require.NoError(t, err)
		kit.Flush(t, raw)
		caller := b.Connect("caller.example")
		for call := range 5 {
			got := kit.Gather(t.Context(), t, caller, kit.Everything)
			assert.Equal(t, want, got.IDs, "call %d", call)
			assert.LessOrEqual(t, len(got.Errors), 0, "call %d", call)
		}
	})
}
