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

// TestCloseWhileServing closes connections that are about to serve something, which is then taken back: both end the same
// subscriptions, and neither waits for the other.
func TestCloseWhileServing(t *testing.T) {
	t.Parallel()
	w := &world{Bus: newBus(t), transport: bus.WithShortCircuit(false)}
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
	served := make(chan error, 1)
	go func() { served <- bus.Serve(conn, many{}) }()
	for range pause { // so that Close finds Serve at another place each time
		runtime.Gosched()
	}
	hung, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := errors.Join(conn.Close(hung), hung.Err()); err != nil {
		t.Error(err)
	}
	<-served // it has failed, or was in time
}
