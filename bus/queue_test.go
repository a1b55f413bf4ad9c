package bus_test

import (
	"math/rand/v2"
	"testing"

	"github.com/busline/busline/bus"
)

// TestQueueOrder pushes and pops at random, and has the numbers come out in their order.
func TestQueueOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var q bus.Queue
	pushed, popped := 0, 0
	for range 100_000 {
		if random.IntN(2) == 0 {
			q.Push(pushed)
			pushed++
			continue
		}
		item, ok := q.Pop()
		if ok != (popped < pushed) || ok && item != popped {
			t.Fatalf("%d, %t, want %d of %d", item, ok, popped, pushed)
		}
		if ok {
			popped++
		}
	}
}

// TestQueueMemory keeps a queue from ever being empty, and then empties a large one.
func TestQueueMemory(t *testing.T) {
	t.Parallel()
	var q bus.Queue
	q.Push(0)
	for i := range 100_000 {
		q.Push(i)
		q.Pop()
	}
	if room := q.Room(); room > 16 {
		t.Errorf("room for %d where there are two", room)
	}
	for i := range 100_000 {
		q.Push(i)
	}
	for {
		if _, ok := q.Pop(); !ok {
			break
		}
	}
	if room := q.Room(); room > 1024 {
		t.Errorf("room for %d is left", room)
	}
}
