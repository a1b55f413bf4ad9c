package bus

import (
	"sync/atomic"
	"time"
)

// reminder tells callers that they have waited for a while. Most have their outcome by then, and have needed no timer of
// their own.
type reminder struct {
	callers *pending
	going   atomic.Bool // it will come around again
}

const (
	// reminderInterval is how often it comes around, while somebody waits for it.
	reminderInterval = 10 * time.Millisecond

	// remindedAfter is when a caller is told, the second time: it may be one interval less when others wait already.
	remindedAfter = 2 * reminderInterval
)

// isRemindable says whether a caller has the time to be reminded, and waits long enough for an ack that an interval more or
// less makes no difference. Who has parts to send has something else to wait for.
func (s *unicastSlot) isRemindable(left time.Duration) bool {
	return s.departing == nil && left > remindedAfter && s.ackWait > 10*remindedAfter
}

// reminders are the message ids of calls that have waited, and may have ended since: those who are told when it comes around
// next, and those the time after. The lock of their shard protects them.
type reminders struct{ next, later []string }

// expect has a call be reminded.
func (r *reminder) expect(id string) {
	at := r.callers.shard(id)
	at.mu.Lock()
	at.reminders.later = append(at.reminders.later, id)
	at.mu.Unlock()
	r.start()
}

func (r *reminder) start() {
	if !r.going.Load() && r.going.CompareAndSwap(false, true) {
		time.AfterFunc(reminderInterval, r.comeAround)
	}
}

func (r *reminder) comeAround() {
	for i := range r.callers.shards {
		r.callers.shards[i].remind()
	}
	if r.isExpected() {
		time.AfterFunc(reminderInterval, r.comeAround)
		return
	}
	r.going.Store(false)
	if r.isExpected() { // by somebody who has come in between, and believed that it was going
		r.start()
	}
}

func (r *reminder) isExpected() bool {
	for i := range r.callers.shards {
		if r.callers.shards[i].isToRemind() {
			return true
		}
	}
	return false
}

func (at *shard) isToRemind() bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	return len(at.reminders.next)+len(at.reminders.later) > 0
}

// remind tells those who have waited for a whole interval.
func (at *shard) remind() {
	at.mu.Lock()
	defer at.mu.Unlock()
	due := at.reminders.next
	for _, id := range due {
		if waits, ok := at.slots[id].(*unicastSlot); ok {
			waits.remind()
		}
	}
	clear(due)
	at.reminders = reminders{next: at.reminders.later, later: due[:0]}
}

func (s *unicastSlot) remind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
}
