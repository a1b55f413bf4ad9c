package bus_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/busline/busline/bus"
)

// gathering holds its callers until all have come.
type gathering struct{ all *sync.WaitGroup }

func (g gathering) Come() {
	g.all.Done()
	g.all.Wait()
}

// TestHandlersThatWaitAreAllStarted makes calls of which none ends before all are handled at the same time.
func TestHandlersThatWaitAreAllStarted(t *testing.T) {
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
				if err := bus.Call(t.Context(), caller, "https://gathering.example/come", nil, nil); err != nil {
					t.Error(err)
				}
			})
		}
		calling.Wait()
		synctest.Wait()
		if left := callee.Stats().Handlers; left != 0 {
			t.Errorf("%d handlers are left", left)
		}
	})
}
