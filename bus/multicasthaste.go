package bus

import (
	"context"
	"time"
)

// Who has called an address before knows who will answer. Who calls it for the first time, or when somebody known stays
// away, listens until it has been quiet for a while: see docs/decisions/0011.
const (
	// multicastQuiet is how long no new ack has to come before a caller takes it that all instances have heard.
	multicastQuiet = 250 * time.Millisecond

	// hastyQuiet is enough at the least when nothing speaks for more.
	hastyQuiet = 12 * time.Millisecond

	// hastyFactor is how many times as long as for the slowest ack a hasty caller listens for another one.
	hastyFactor = 8
)

// haste lets a first call end before it has been quiet for [multicastQuiet]. The lock of the slot protects it.
type haste struct {
	hasty bool
	lag   time.Duration // by which this process, or the broker, was late when the caller looked at the clock
}

// silence is how long no new ack has to come. The lock is held.
func (s *multicastSlot) silence() time.Duration {
	if !s.hasty || s.acked == 0 {
		return multicastQuiet
	}
	slowest := max(s.lastAck.Sub(s.began), s.lag)
	return min(max(hastyQuiet, hastyFactor*slowest), multicastQuiet)
}

// quietFrom is when it will have been quiet for long enough unless something comes.
func (s *multicastSlot) quietFrom() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastAck.Add(s.silence())
}

// believes finds out whether it has been quiet, or only this process or the broker slow: false when the call is to be
// looked at again.
func (s *multicastSlot) believes(ctx context.Context) bool {
	due := s.quietFrom()
	trusted := s.catchUp(ctx) && s.conn.responders.areAll(s.host, s.instances())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasty = s.hasty && trusted
	s.lag = max(s.lag, time.Since(due))
	return !time.Now().Before(s.lastAck.Add(s.silence()))
}

// catchUp returns when everything is looked at that had reached the broker; false when that takes too long.
func (s *multicastSlot) catchUp(ctx context.Context) bool {
	ctx, cancel := context.WithDeadline(ctx, earlier(s.ends, time.Now().Add(multicastQuiet)))
	defer cancel()
	if s.conn.link.flush(ctx) != nil {
		return false
	}
	s.conn.link.intake.passed(ctx)
	return ctx.Err() == nil
}

// instances returns who has acked.
func (s *multicastSlot) instances() (acked []peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.members {
		if each.acked {
			acked = append(acked, each.ack)
		}
	}
	return acked
}
