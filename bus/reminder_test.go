package bus_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// TestCallersAreReminded has calls take longer than callers wait without a timer, and less, and be left at any time.
func TestCallersAreReminded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		k, caller := newKeeping(t, b.world)
		slowly := bus.NewOperation[single, doubled](caller, keeperURL+"/double-slowly")
		for wait := time.Millisecond; wait < time.Minute/4; wait *= 3 {
			var calling sync.WaitGroup
			calling.Go(func() {
				if response, err := slowly.Call(t.Context(), single{21}); err != nil || response.Results.Doubled != 42 {
					t.Errorf("after %s: %+v (%v)", wait, response, err)
				}
			})
			<-k.entered
			time.Sleep(wait)
			k.release <- struct{}{}
			calling.Wait()

			ctx, leave := context.WithTimeout(t.Context(), wait)
			calling.Go(func() {
				if _, err := slowly.Call(ctx, single{21}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("left after %s: %v", wait, err)
				}
			})
			<-k.entered
			began := time.Now()
			calling.Wait()
			leave()
			if waited := time.Since(began); waited > wait {
				t.Errorf("a caller with %s has waited for %s", wait, waited)
			}
			k.release <- struct{}{}
		}
	})
}
