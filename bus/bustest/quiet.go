package bustest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/broker"
)

// quietBroker is a broker in a bubble, where the clock moves only when every goroutine waits: once it has moved, no
// message is in transit. It is a [testbroker.Quiet].
type quietBroker struct {
	*broker.Broker

	moments atomic.Int64
	clients atomic.Int64 // connected ones
}

// AwaitQuiet sleeps until a moment at which no other goroutine wakes up, so that nothing is sent then either: the
// nanoseconds of each such moment are new. Goroutines that have slept in whole microseconds since an earlier moment
// have the nanoseconds of that one, and not of the next.
func (b *quietBroker) AwaitQuiet(ctx context.Context) error {
	now := time.Now()
	moment := now.Truncate(time.Microsecond).Add(time.Duration(b.moments.Add(1)) % time.Microsecond)
	if !moment.After(now) {
		moment = moment.Add(time.Microsecond)
	}
	timer := time.NewTimer(moment.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
