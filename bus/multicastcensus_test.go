package bus_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busline/busline/bus"
)

// newCrowd serves GET /who and GET /context by two instances.
func (b *bubble) newCrowd() {
	b.t.Helper()
	for range 2 {
		conn := b.connect(calculatorHost)
		serve(b.t, conn, calculator{conn.ID()}, bus.Method("Who", bus.NoQueue()), bus.Method("Context", bus.NoQueue()))
	}
}

// TestKilledInstanceIsWaitedForOnce kills an instance that has acked the greeting of the caller.
func TestKilledInstanceIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		b.newCrowd()
		raw := rawClient(t, b.world)
		slow{host: calculatorHost, id: "s1aaaaaaaa", greets: true}.serve(t, raw, b.Plane())
		caller := b.connect("caller.example")
		synctest.Wait() // for the ack of its greeting
		raw.Close()
		synctest.Wait()
		if ids, took := publishFor(t, caller, calculatorURL+"/who"); len(ids) != 2 || took < 250*time.Millisecond {
			t.Errorf("%v answered within %s: nothing was known of the one that is gone", ids, took)
		}
		if ids, took := publishFor(t, caller, calculatorURL+"/context"); len(ids) != 2 || took > 20*time.Millisecond {
			t.Errorf("%v answered within %s: the one that is gone was waited for again", ids, took)
		}
	})
}

// TestStalledInstanceIsExpectedAgain has an instance that misses one multicast, and is slow at the next.
func TestStalledInstanceIsExpectedAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		const id = "s1aaaaaaaa"
		b.newCrowd()
		b.newSlow(slow{host: calculatorHost, id: id, takes: 300 * time.Millisecond, greets: true})
		b.newSlow(slow{host: calculatorHost, id: id, path: "context", takes: 200 * time.Millisecond})
		caller := b.connect("caller.example")
		if ids := publish(t, caller, calculatorURL+"/who"); slices.Contains(ids, id) {
			t.Fatalf("%v answered: nothing is learnt from this test", ids)
		}
		time.Sleep(time.Second) // on the clock of the bubble
		if ids := publish(t, caller, calculatorURL+"/context"); !slices.Contains(ids, id) {
			t.Errorf("only %v answered", ids)
		}
	})
}

// TestQueueSpeaksForItsInstances calls an endpoint with a queue: that one instance alone has acked says nothing of the others.
func TestQueueSpeaksForItsInstances(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		const id = "s1aaaaaaaa"
		b.newCrowd()
		b.newSlow(slow{host: calculatorHost, id: id, takes: 200 * time.Millisecond, greets: true})
		caller := b.connect("caller.example")
		if ids := publish(t, caller, calculatorURL+"/add?x=1&y=2"); len(ids) != 1 {
			t.Fatalf("%v answered, want one of the queue", ids)
		}
		if ids := publish(t, caller, calculatorURL+"/who"); !slices.Contains(ids, id) {
			t.Errorf("only %v answered", ids)
		}
	})
}
