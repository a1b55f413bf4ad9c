package bus_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// many has methods enough for Serve to take a moment.
type many struct{}

func (many) A() {}
func (many) B() {}
func (many) C() {}
func (many) D() {}
func (many) E() {}
func (many) F() {}
func (many) G() {}
func (many) H() {}

// TestClose_WhileServing closes connections that are about to serve something, which is then taken back: both end the same
// subscriptions, and neither waits for the other.
func TestClose_WhileServing(t *testing.T) {
	t.Parallel()
	w := &world{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for round := range 200 {
				closeWhileServing(t, w, round)
			}
		})
	}
	all.Wait()
}

func closeWhileServing(t *testing.T, w *world, pause int) {
	t.Helper()
	conn := w.connect("many.example")
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := bus.Serve(conn, many{}); err != nil && !errors.Is(err, bus.ErrClosed) { // it fails unless it is in time
			t.Error(err)
		}
	})

	// Close finds Serve at another place each time, and every other time takes no time
	for range pause {
		runtime.Gosched()
	}
	hung, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	patience := hung
	if pause%2 == 1 {
		var leave context.CancelFunc
		patience, leave = context.WithCancel(hung)
		leave()
	}
	if err := errors.Join(conn.Close(patience), hung.Err()); err != nil {
		t.Error(err)
	}
	serving.Wait()
}
