package bustest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/broker"
)

// quietBroker is a broker in a bubble, where the clock only moves when every goroutine waits: when it has moved, no
// message is on its way any more. It is what bus calls a QuietBroker.
type quietBroker struct {
	*broker.Broker

	moments atomic.Int64
	clients atomic.Int64 // that are connected
}

// AwaitQuiet sleeps until a moment that nobody else wakes up at, so that nothing leaves then either: the nanoseconds of
// each one are new. Whoever slept in whole microseconds since one of them has its nanoseconds, and not the next ones.
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
