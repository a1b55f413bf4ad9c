package bus

import (
	"context"
	"time"
)

// A caller that has called an address before knows who will answer. One that calls it for the first time, or misses somebody
// it knows, listens until it has been quiet for a while: see docs/decisions/0011.
const (
	// multicastQuiet is how long after an ack no new one must have come before a caller concludes that all instances have acked.
	multicastQuiet = 250 * time.Millisecond

	// hastyQuiet is the shortest time that is enough if nothing speaks for more.
	hastyQuiet = 12 * time.Millisecond

	// hastyFactor times as long as the slowest ack took, a hasty caller listens for another one.
	hastyFactor = 8
)

// haste lets a first call end before it has been quiet for [multicastQuiet]. The lock of the slot protects it.
type haste struct {
	hasty bool
	lag   time.Duration // by how much this process, or the broker, was late when the caller looked at the clock
	long  bool          // it has been quiet for [multicastQuiet], and everything that came until then has been looked at
}

// silence is how long no new ack must have come. As long as there is none at all, it is what a unicast call waits: the broker
// would have said so if nobody had got the request. The lock is held.
func (s *multicastSlot) silence() time.Duration {
	if s.acked == 0 {
		return max(multicastQuiet, s.conn.ackWait)
	}
	if !s.hasty {
		return multicastQuiet
	}
	slowest := max(s.lastAck.Sub(s.began), s.lag)
	return min(max(hastyQuiet, hastyFactor*slowest), multicastQuiet)
}

// quietFrom is when it will have been quiet for long enough, unless something comes.
func (s *multicastSlot) quietFrom() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastAck.Add(s.silence())
}

// believes finds out whether it has really been quiet, or this process or the broker was slow; false if the call has to be
// looked at again.
func (s *multicastSlot) believes(ctx context.Context) bool {
	due := s.quietFrom()
	caughtUp := s.catchUp(ctx)
	trusted := caughtUp && s.conn.responders.areAll(s.host, s.instances())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasty = s.hasty && trusted
	s.lag = max(s.lag, time.Since(due))
	quiet := !time.Now().Before(s.lastAck.Add(s.silence()))
	s.long = quiet && caughtUp && !s.hasty
	return quiet
}

// catchUp returns when everything that had reached the broker has been looked at; false if that takes too long.
func (s *multicastSlot) catchUp(ctx context.Context) bool {
	ctx, cancel := context.WithDeadline(ctx, earlier(s.ends, time.Now().Add(multicastQuiet)))
	defer cancel()
	if s.conn.link.flush(ctx) != nil {
		return false
	}
	s.conn.link.intake.passed(ctx)
	return ctx.Err() == nil
}

// everybody returns the instances of the host that seem to be there; nil if the call has not listened for long, or cannot
// tell, as one instance acks for a queue.
func (s *multicastSlot) everybody() []peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, queued := s.find([]byte(s.host)); queued || !s.long {
		return nil
	}
	return s.heardFrom()
}

// instances returns who has acked.
func (s *multicastSlot) instances() []peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heardFrom()
}

// heardFrom is instances with the lock held.
func (s *multicastSlot) heardFrom() (acked []peer) {
	for _, each := range s.members {
		if each.acked {
			acked = append(acked, each.ack)
		}
	}
	return acked
}
