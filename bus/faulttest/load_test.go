package faulttest_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus"
)

// load is callers that call one after the other, until they are stopped.
type load struct {
	oracle  *oracle
	from    []*bus.Conn // the callers are spread over them
	address string
	callers int
	task    task
	budget  time.Duration
	pause   time.Duration // after a call that failed, as a client that tries again should make
}

// start returns what stops it: no further calls are made, and those under way are waited for.
func (l load) start() (stop func()) {
	var (
		calling sync.WaitGroup
		stopped atomic.Bool
	)
	for i := range l.callers {
		calling.Go(func() {
			for !stopped.Load() {
				if err := l.oracle.call(context.Background(), l.from[i%len(l.from)], l.address, l.task, l.budget); err != nil {
					pass(l.pause)
				}
			}
		})
	}
	return func() {
		stopped.Store(true)
		calling.Wait()
	}
}
