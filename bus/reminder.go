package bus

import (
	"sync/atomic"
	"time"
)

// reminder tells callers that they have waited for a while. Most have their outcome by then, and have needed no timer of
// their own.
type reminder struct {
	callers *pending
	round   atomic.Uint32 // how often it has come around
	going   atomic.Bool   // it will come around again
}

const (
	// reminderInterval is how often it comes around, while somebody waits for it.
	reminderInterval = 10 * time.Millisecond

	// reminderRounds is how often it comes around before it tells a caller, who has then waited for 10 to 20 ms.
	reminderRounds = 2
)

// awaited has it come around, for who is among the callers by now.
func (r *reminder) awaited() {
	if !r.going.Load() && r.going.CompareAndSwap(false, true) {
		time.AfterFunc(reminderInterval, r.comeAround)
	}
}

func (r *reminder) comeAround() {
	round := r.round.Add(1)
	if r.callers.remind(round) {
		time.AfterFunc(reminderInterval, r.comeAround)
		return
	}
	r.going.Store(false)
	if r.callers.remind(round) { // somebody has come in between, and believed that it was going
		r.awaited()
	}
}

// remind tells the callers that a round has begun, and says whether one of them waits for a later one.
func (p *pending) remind(round uint32) (later bool) {
	for i := range p.shards {
		later = p.shards[i].remind(round) || later
	}
	return later
}

func (at *shard) remind(round uint32) (later bool) {
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, each := range at.slots {
		later = each.remind(round) || later
	}
	return later
}

// isReminded has the caller be reminded, if it has the time to wait for that.
func (s *unicastSlot) isReminded(r *reminder, time time.Duration) {
	if time > reminderRounds*reminderInterval {
		s.reminder, s.since = r, r.round.Load()
	}
}

func (s *unicastSlot) remind(round uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reminder == nil || s.reminded {
		return false
	}
	if s.reminded = round-s.since >= reminderRounds; s.reminded {
		s.wake()
	}
	return !s.reminded
}
