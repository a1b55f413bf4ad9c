package natsconn

import (
	"context"
	"math/rand/v2"
	"time"
)

// ConnState is the state of a connection.
type ConnState = connState

// NewConnState returns the state of a connection to a broker that is there.
func NewConnState() *ConnState { return newConnState() }

// Begin notes that the broker is away.
func (s *connState) Begin(grace time.Duration) { s.begin(grace) }

// End notes that the broker is back.
func (s *connState) End() (wasAway bool) { return s.end() }

// Stop ends the timer.
func (s *connState) Stop() { s.stop() }

// GraceExpired returns the channel that is closed at the end of the grace.
func (s *connState) GraceExpired() <-chan struct{} { return s.graceExpired() }

// Change returns the channel that is closed when the broker comes or goes.
func (s *connState) Change() <-chan struct{} { return s.change() }

// IsDown reports whether the broker is away.
func (s *connState) IsDown() bool { return s.isDown() }

// IsSettling reports whether the broker is away, or was a moment ago.
func (s *connState) IsSettling() bool { return s.isSettling() }

// AwaitReturn waits until other instances have most likely come back.
func (s *connState) AwaitReturn(ctx context.Context) { s.awaitReturn(ctx) }

// SettlingTime and ReturnTime are how long after an outage instances may still be reconnecting, and responses are held
// back.
const (
	SettlingTime = settlingTime
	ReturnTime   = returnTime
)

// Violations is the set of what the broker has denied.
type Violations = violations

// MaxDenials bounds it.
const MaxDenials = maxDenials

// Add reports whether it is the first time.
func (d *violations) Add(denied Violation) (first bool) { return d.add(denied) }

// Has reports whether a violation is in the set.
func (d *violations) Has(denied Violation) bool { return d.has(denied) }

// Forget empties the set.
func (d *violations) Forget() { d.forget() }

// AsyncErrCollector collects what the broker refuses.
type AsyncErrCollector = asyncErrCollector

// CollectAsyncErrs returns a collector that has begun.
func CollectAsyncErrs(c *Conn) *AsyncErrCollector { return c.collectAsyncErrs() }

// Reports returns what was refused since the collector began.
func (w *asyncErrCollector) Reports(ctx context.Context) ([]error, error) { return w.reports(ctx) }

// Close ends the collector.
func (w *asyncErrCollector) Close() { w.close() }

// ReconnectDelay returns how long to wait after so many attempts.
func ReconnectDelay(tries int) time.Duration {
	return (&Conn{spread: rand.N[time.Duration]}).reconnectDelay(tries)
}
