package natsconn

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// OutageGrace is how long calls under way wait for their answers while the broker is away, and finished handlers to
	// send theirs. A connection that was cut is back well within it.
	OutageGrace = 2 * time.Second
	// settlingTime is how long after an outage no instance counts as lost: it may still be reconnecting.
	settlingTime = 2 * time.Second
	// returnTime is how long after an outage the response to an earlier request is held back. Its caller has most likely
	// lost the broker, too, tries again each 150 ms at the latest, and receives nothing before it is back.
	returnTime = 300 * time.Millisecond
)

// AwaitOpen waits until messages can be sent, or a connection of the application is closed for good: the broker may be
// away, and a connection of our own may be being replaced.
func (c *Conn) AwaitOpen(ctx context.Context) error {
	for !c.IsLost() && !c.isOpen() {
		if err := c.awaitChange(ctx); err != nil {
			return err
		}
	}
	return nil
}

// isOpen reports whether the broker is there. An outage ends a moment after there is a connection.
func (c *Conn) isOpen() bool { return c.IsConnected() && !c.state.isDown() }

// awaitChange returns when isOpen may return something else.
func (c *Conn) awaitChange(ctx context.Context) error {
	changed, connection := c.state.change(), c.NATS()
	connected := connection.StatusChanged(nats.CONNECTED) // the state may miss a short outage
	defer connection.RemoveStatusListener(connected)
	if c.isOpen() {
		return nil
	}
	select {
	case <-changed:
		return nil
	case <-connected:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// GraceExpired returns a channel that is closed when the broker has been away for longer than [OutageGrace], or will
// not come back.
func (c *Conn) GraceExpired() <-chan struct{} { return c.state.graceExpired() }

// IsSettling reports whether the broker is away, or was a moment ago: other instances may still be reconnecting.
func (c *Conn) IsSettling() bool { return c.state.isSettling() }

// WasAwaySince reports whether the broker is away, or was at some time since.
func (c *Conn) WasAwaySince(since time.Time) bool {
	return since.UnixNano() < c.state.stableSince.Load() || !c.IsConnected()
}

// AwaitReturn waits for the broker, for [OutageGrace] at most, and then until other instances have most likely found
// it, too.
func (c *Conn) AwaitReturn(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, OutageGrace)
	defer cancel()
	if c.AwaitOpen(ctx) == nil {
		c.state.awaitReturn(ctx)
	}
}

// connState knows whether the broker is there.
type connState struct {
	over atomic.Pointer[chan struct{}] // closed when the broker has been away too long; a new one once it is back
	// Unix nanoseconds; requests that arrived before have seen an outage, or are in one
	stableSince atomic.Int64

	mu      sync.Mutex // protects all below
	down    bool
	changed chan struct{} // closed when the broker comes or goes, and then replaced
	timer   *time.Timer   // runs while the broker is away
	back    time.Time     // when it came back the last time
}

func newConnState() *connState {
	s := &connState{changed: make(chan struct{})}
	s.renew()
	return s
}

func (s *connState) renew() {
	over := make(chan struct{})
	s.over.Store(&over)
}

// graceExpired returns a channel that is closed when the broker has been away for longer than a call waits.
func (s *connState) graceExpired() <-chan struct{} { return *s.over.Load() }

// change returns a channel that is closed when the broker comes or goes.
func (s *connState) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// begin notes that the broker is away. Calls wait for the grace, which is 0 if the broker will not come back.
func (s *connState) begin(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down && grace > 0 {
		return
	}
	s.down = true
	s.stableSince.Store(math.MaxInt64)
	s.notifyLocked()
	over := *s.over.Load()
	if s.timer != nil && !s.timer.Stop() {
		return // the grace is over already
	}
	if s.timer = nil; grace <= 0 {
		close(over)
		return
	}
	s.timer = time.AfterFunc(grace, func() { close(over) })
}

// end notes that the broker is back. It reports whether it was away.
func (s *connState) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.down {
		return false
	}
	s.down, s.back = false, time.Now()
	s.stableSince.Store(s.back.UnixNano())
	s.notifyLocked()
	if s.timer == nil || !s.timer.Stop() {
		s.renew()
	}
	s.timer = nil
	return true
}

// notifyLocked closes the channel of change.
func (s *connState) notifyLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// stop ends the timer. No caller may wait any more.
func (s *connState) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// isSettling reports whether the broker is away, or was a moment ago.
func (s *connState) isSettling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down || !s.back.IsZero() && time.Since(s.back) < settlingTime
}

func (s *connState) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// awaitReturn waits until other instances have had the time to come back from the latest outage, or ctx ends.
func (s *connState) awaitReturn(ctx context.Context) {
	s.mu.Lock()
	left := time.Until(s.back.Add(returnTime))
	s.mu.Unlock()
	if left <= 0 {
		return
	}
	select {
	case <-time.After(left):
	case <-ctx.Done():
	}
}
