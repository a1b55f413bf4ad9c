package msgsvc_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/msgsvc"
)

// fill stores numbered entries through a replica, or through several in turn.
func fill(t *testing.T, count int, through ...instance) {
	t.Helper()
	for i := range count {
		store(t, through[i%len(through)], fmt.Sprint(i), fmt.Sprintf("value %d", i))
	}
}

// expectFilled looks for what fill has stored.
func expectFilled(t *testing.T, count int, through msgsvc.Cache) {
	t.Helper()
	for i := range count {
		expect(t, through, fmt.Sprint(i), fmt.Sprintf("value %d", i))
	}
}

// TestHandOver closes one instance after the other: whatever they held is found until the last one has gone.
func TestHandOver(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	replicas := newInstances(t, b, 4)
	fill(t, 100, replicas...)
	for len(replicas) > 1 {
		replicas[0].close(t)
		replicas = replicas[1:]
		expectFilled(t, 100, replicas[len(replicas)-1])
	}
	replicas[0].close(t)
	expectNone(t, newInstance(t, b), "0") // the last one took them along
}

// TestHandOver_ByTheNewest holds that a replica does not count itself among those that take, however much room it
// has.
func TestHandOver_ByTheNewest(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	old := newInstance(t, b)
	fill(t, 50, old)
	newest := newInstance(t, b)
	store(t, newest, "only here", "value")
	newest.close(t)
	expect(t, old, "only here", "value")
	expectFilled(t, 50, old)
}

// TestHandOver_ToTheRoomiest holds that entries go to where they push nothing out.
func TestHandOver_ToTheRoomiest(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	const room = 10 // entries
	size := msgsvc.WithCacheSize(room * (msgsvc.EntryOverhead + 10))
	replicas := newInstances(t, b, 4, size)
	for i := range room {
		store(t, replicas[0], fmt.Sprintf("a%04d", i), "value")
		store(t, replicas[1], fmt.Sprintf("b%04d", i), "value")
	}
	replicas[0].close(t)
	replicas[1].close(t)
	for i := range room {
		expect(t, replicas[2], fmt.Sprintf("a%04d", i), "value")
		expect(t, replicas[2], fmt.Sprintf("b%04d", i), "value")
	}
}

// notMessaging serves what the messaging service would serve.
type notMessaging struct{}

func (notMessaging) Home() (text string) { return "somebody else" }

// TestHandOver_ToTheServed holds that no entries go to a connection on which New has failed: no instance would hand
// them over again.
func TestHandOver_ToTheServed(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	replicas := newInstances(t, b, 2, msgsvc.WithCacheSize(1<<20))
	fill(t, 10, replicas[0])
	failed := b.Connect(host)
	require.NoError(t, bus.Serve(failed, notMessaging{}))
	if _, err := msgsvc.New(t.Context(), failed); !strings.Contains(fmt.Sprint(err), "both serve GET /home") {
		t.Errorf("New: %v", err)
	}
	replicas[0].close(t)
	require.NoError(t, failed.Close(t.Context()))
	expectFilled(t, 10, replicas[1])
}

// TestHandOver_ByUse holds that where there is not room for all, the entries used least recently go, whichever instance
// held them.
func TestHandOver_ByUse(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	clock := newHandClock()
	const room = 40 // entries, in several batches
	value := strings.Repeat("v", 100_000)
	size := msgsvc.WithCacheSize(room * (len(value) + msgsvc.EntryOverhead + len("00 of 0")))
	replicas := newInstances(t, b, 2, size, msgsvc.WithClock(clock.now))
	key := func(i, replica int) string { return fmt.Sprintf("%02d of %d", i, replica) }
	for i := range room {
		for n, replica := range replicas {
			clock.forward(time.Second)
			store(t, replica, key(i, n), value)
		}
	}
	replicas[0].close(t)
	for i := range room {
		for n := range replicas {
			if found := holds(t, replicas[1], key(i, n)); found != (i >= room/2) {
				t.Errorf("%s: found %t", key(i, n), found)
			}
		}
	}
}

// TestHandOver_InBatches moves more than one message holds.
func TestHandOver_InBatches(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	replicas := newInstances(t, b, 2)
	const count = 40
	value := strings.Repeat("\x00", 100_000)
	for i := range count {
		store(t, replicas[0], fmt.Sprint(i), value)
	}
	replicas[0].close(t)
	for i := range count {
		expect(t, replicas[1], fmt.Sprint(i), value)
	}
}

// candidate is a replica to hand over to. While an entry is on its way there, the entry is replaced, and both get the
// invalidation.
type candidate struct {
	id      string
	entries chan string
	onTake  func()
}

func (candidate) Join() {}

func (t candidate) Room() (id string, room int, closing bool) { return t.id, 1 << 20, false }

func (t candidate) Take() (taken bool) {
	t.onTake()
	return true
}

func (t candidate) Invalidate(key []byte, by struct {
	Time int64 `json:"time"`
}) {
	t.entries <- fmt.Sprintf("%s at %d", key, by.Time)
}

// TestHandOver_ReplacedMeanwhile holds that a candidate gets the invalidation once more, when it has the entry.
func TestHandOver_ReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	b.AllowUnknownFields() // the candidate takes less
	replica := newInstance(t, b)
	fill(t, 3, replica)
	conn := b.Connect(host)
	later := time.Now().Add(time.Second).UnixNano()
	entries := make(chan string, 3)
	err := bus.Serve(conn, candidate{conn.ID(), entries, func() {
		ask(t, replica, "/invalidate", bus.Args{"key": []byte("1"), "by": bus.Args{"time": later}}, nil)
	}}, bus.Port(444), bus.NoQueue())
	require.NoError(t, err)
	replica.close(t)
	close(entries)
	want := fmt.Sprintf("1 at %d", later)
	first, more := <-entries, len(entries)
	assert.Equal(t, want, first)
	assert.Zero(t, more)
}

// TestHandOver_StoreThroughAClosingInstance holds that an instance keeps its word up to its last call: what is stored
// through it after it has handed over is handed over too.
func TestHandOver_StoreThroughAClosingInstance(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	replicas := newInstances(t, b, 2)
	require.NoError(t, replicas[0].service.Close(t.Context()))
	store(t, replicas[0], "late", "value")
	replicas[0].close(t)
	expect(t, replicas[1], "late", "value")
}

// TestHandOver_StoresWhileClosing stores through a replica all the while it closes: what it took is there.
func TestHandOver_StoresWhileClosing(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	replicas := newInstances(t, b, 3)
	fill(t, 20, replicas...) // so that they know one another, and no call takes its time
	var stores sync.WaitGroup
	for i := range 100 {
		stores.Go(func() {
			assert.NoError(t, replicas[0].Store(t.Context(), fmt.Sprintf("during %d", i), "value"))
		})
	}
	require.NoError(t, replicas[0].service.Close(t.Context()))
	stores.Wait()
	replicas[0].close(t)
	for i := range 100 {
		expect(t, replicas[1], fmt.Sprintf("during %d", i), "value")
	}
	expectFilled(t, 20, replicas[1])
}

// TestClose_AllAtOnce is how a program ends: no instance is left to take anything, and no caller waits for it.
func TestClose_AllAtOnce(t *testing.T) {
	t.Parallel()
	replicas := newInstances(t, bustest.New(t), 3)
	fill(t, 30, replicas...)
	var closes sync.WaitGroup
	for _, replica := range replicas {
		closes.Go(func() { replica.close(t) })
	}
	closes.Wait()
}

func TestClose_Twice(t *testing.T) {
	t.Parallel()
	replica := newInstance(t, bustest.New(t))
	store(t, replica, "key", "value")
	for range 2 {
		assert.NoError(t, replica.service.Close(t.Context()))
	}
}

// TestClose_TellsWhatWasLost holds that entries which could not be handed over are counted.
func TestClose_TellsWhatWasLost(t *testing.T) {
	t.Parallel()
	t.Run("no time", func(t *testing.T) {
		t.Parallel()
		replicas := newInstances(t, bustest.New(t), 2)
		fill(t, 3, replicas[0])
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		expectLost(t, replicas[0].service.Close(ctx), context.Canceled)
	})
	t.Run("connection closed first", func(t *testing.T) {
		t.Parallel()
		replicas := newInstances(t, bustest.New(t), 2)
		fill(t, 3, replicas[0])
		require.NoError(t, replicas[0].conn.Close(t.Context()))
		expectLost(t, replicas[0].service.Close(t.Context()), bus.ErrClosed)
	})
}

func expectLost(t *testing.T, err, cause error) {
	t.Helper()
	assert.True(t, strings.HasPrefix(fmt.Sprint(err), "3 of 3 cache entries were not handed over: "), fmt.Sprint(err))
	assert.ErrorIs(t, err, cause)
}
