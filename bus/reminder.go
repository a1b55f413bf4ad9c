package bus

import (
	"sync/atomic"
	"time"
)

// reminder wakes callers that have waited for a while. Most have their outcome by then, and have needed no timer of their
// own.
type reminder struct {
	callers *pending
	going   atomic.Bool // another round is scheduled
}

const (
	// reminderInterval is the time between two rounds, while somebody waits for one.
	reminderInterval = 10 * time.Millisecond

	// remindedAfter is after how long a caller is woken, in the second round: up to one interval earlier if others wait already.
	remindedAfter = 2 * reminderInterval
)

// isRemindable says whether a caller has enough time left to be reminded, and waits long enough for an ack that an interval
// more or less makes no difference. A caller with parts to send has something else to wait for.
func (s *unicastSlot) isRemindable(left time.Duration) bool {
	return s.departing == nil && left > remindedAfter && s.ackWait > 10*remindedAfter
}

// reminders are the message ids of calls to be woken in the next round, and in the one after it. The calls may have ended
// since. The lock of their shard protects them.
type reminders struct{ next, later []string }

// expect registers a call to be reminded.
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
	if r.isExpected() { // by a caller that came in between and found it going
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

// remind wakes the callers that have waited for a whole interval.
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
