package bustest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/broker"
)

// quietBroker is a [testbroker.Quiet] in a bubble. The clock of a bubble moves only when every goroutine waits, so no
// message is in transit when it has moved.
type quietBroker struct {
	*broker.Broker

	moments atomic.Int64 // number of calls of AwaitQuiet
	clients atomic.Int64 // connected clients
}

// AwaitQuiet sleeps until a moment at which no other goroutine wakes up, so that nothing is sent. Each moment has new
// nanoseconds: a goroutine that slept whole microseconds since an earlier moment wakes up at the nanoseconds of that
// one.
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
