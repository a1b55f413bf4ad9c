package bus_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// gathering holds its callers until all have come.
type gathering struct{ all *sync.WaitGroup }

func (g gathering) Come() {
	g.all.Done()
	g.all.Wait()
}

// TestHandlers_ThatWaitAreAllStarted makes calls of which none ends before all are handled at the same time.
func TestHandlers_ThatWaitAreAllStarted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		const calls = 500
		all := new(sync.WaitGroup)
		all.Add(calls)
		callee := b.connect("gathering.example")
		serve(t, callee, gathering{all})
		caller := b.connect("caller.example")
		var calling sync.WaitGroup
		for range calls {
			calling.Go(func() {
				if err := caller.Call(t.Context(), "https://gathering.example/come", nil, nil); err != nil {
					t.Error(err)
				}
			})
		}
		calling.Wait()
		synctest.Wait()
		if left := callee.Stats().InFlight; left != 0 {
			t.Errorf("%d handlers are left", left)
		}
	})
}

// counted counts its calls.
type counted struct{ calls *atomic.Int64 }

func (c counted) Count() { c.calls.Add(1) }

// TestQueuedInVain has requests queued until nobody waits for their answers: then they are not handled.
func TestQueuedInVain(t *testing.T) {
	t.Parallel()
	const calls = 10
	for name, test := range map[string]struct {
		giveUp     func(cancel func())
		turnedAway int64
		options    []bus.ServeOption
		handled    int64 // at most: the last one is not queued if there is nothing behind it
	}{
		"time is up":                 {func(func()) { time.Sleep(2 * time.Second) }, calls, nil, 1},
		"caller left":                {func(cancel func()) { cancel() }, 0, nil, 1},
		"time of the endpoint is up": {func(func()) { time.Sleep(time.Second / 2) }, 0, []bus.ServeOption{bus.TimeBudget(time.Millisecond)}, calls},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				handled := new(atomic.Int64)
				callee, caller := b.Connect("counted.example", bus.WithoutSharing()), b.Connect("caller.example", bus.WithoutSharing())
				serve(t, callee, counted{handled}, test.options...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				synctest.Wait()
				takeIn, handle := bus.HoldIntake(callee), bus.HoldBacklog(callee)
				var calling sync.WaitGroup
				for range calls {
					calling.Go(func() { _ = caller.Call(ctx, "https://counted.example/count", nil, nil) })
				}
				synctest.Wait()
				takeIn()
				synctest.Wait()
				test.giveUp(cancel)
				synctest.Wait() // the cancels have come
				handle()
				calling.Wait()
				synctest.Wait()
				stats := callee.Stats()
				if test.turnedAway > 0 {
					test.turnedAway -= handled.Load()
				}
				if handled.Load() > test.handled || test.handled == calls && handled.Load() < calls || stats.Rejected != test.turnedAway || stats.InFlight != 0 {
					t.Errorf("%d were handled, %+v", handled.Load(), stats)
				}
			})
		})
	}
}
