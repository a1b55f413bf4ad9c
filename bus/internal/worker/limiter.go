package worker

import (
	"math"
	"sync"
)

// Limiter counts calls or requests that are under way, limits how many of them run, and reports when the last one is done. What was
// admitted holds a slot until it releases it, and counts until it is done.
//
// There are two classes. Calls are rejected at the limit; events wait. Events may use three quarters of the limit, and the last free
// slot is reserved for a waiting event while fewer run, so neither class starves the other. It is safe for concurrent use.
type Limiter struct {
	mu      sync.Mutex // protects all below
	limit   int        // of those that run; 0: none
	running int        // hold a slot
	events  int        // of those that run
	waiting int        // events without a slot
	inside  int        // admitted, or waiting, and not done
	closed  bool
	drained chan struct{} // closed when nothing is inside any more; made by Close
	told    bool          // drained is closed
}

// Outcome is what a Limiter decides.
type Outcome int

// Outcomes.
const (
	Admitted Outcome = iota
	Full
	Closed
)

// NewLimiter returns a limiter of so many slots; 0 stands for no limit.
func NewLimiter(limit int) *Limiter { return &Limiter{limit: limit} }

// Acquire admits a call that cannot wait. An admitted call must Release its slot and then be Done.
func (l *Limiter) Acquire() Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return Closed
	case !l.hasSlotLocked():
		return Full
	}
	l.inside++
	l.running++
	return Admitted
}

// hasSlotLocked reports whether a call may run.
func (l *Limiter) hasSlotLocked() bool {
	if l.limit == 0 {
		return true
	}
	places := l.limit
	if l.waiting > 0 && l.events < l.eventShareLocked() {
		places--
	}
	return l.running < places
}

// eventShareLocked returns how many events may run: all but a quarter of the limit.
func (l *Limiter) eventShareLocked() int {
	const quarter = 4
	return l.limit - l.limit/quarter
}

// FreeForEvents returns how many more events may run.
func (l *Limiter) FreeForEvents() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.freeForEventsLocked()
}

func (l *Limiter) freeForEventsLocked() int {
	if l.limit == 0 {
		return math.MaxInt
	}
	return max(0, min(l.limit-l.running, l.eventShareLocked()-l.events))
}

// AcquireEvent admits an event. If there is no slot, or it is not its turn, the event waits inside: it must then StartEvent or
// AbandonEvent. An admitted event must ReleaseEvent and then be Done.
func (l *Limiter) AcquireEvent(turn bool) Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return Closed
	}
	l.inside++
	if !turn || l.freeForEventsLocked() == 0 {
		l.waiting++
		return Full
	}
	l.running++
	l.events++
	return Admitted
}

// StartEvent gives a slot to an event that waits, even after Close. It reports false if there is still none.
func (l *Limiter) StartEvent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.freeForEventsLocked() == 0 {
		return false
	}
	l.waiting--
	l.running++
	l.events++
	return true
}

// ReleaseEvent gives back the slot of an event.
func (l *Limiter) ReleaseEvent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.events--
}

// AbandonEvent ends the wait of an event, which is done.
func (l *Limiter) AbandonEvent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	l.inside--
	l.notifyDrainedLocked()
}

// AcquireNested admits a call made by one that is inside this limiter, or another one of the connection, even after Close or at the
// limit.
func (l *Limiter) AcquireNested() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside++
	l.running++
}

// Release gives back a slot, before Done or while the call only waits.
func (l *Limiter) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
}

// Reacquire takes a slot again after Release, even at the limit.
func (l *Limiter) Reacquire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
}

// Done ends a call or an event that has released its slot.
func (l *Limiter) Done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside--
	l.notifyDrainedLocked()
}

// notifyDrainedLocked closes drained once nothing is inside any more. AcquireNested may still admit more afterwards.
func (l *Limiter) notifyDrainedLocked() {
	if l.closed && l.inside == 0 && !l.told {
		l.told = true
		close(l.drained)
	}
}

// Close admits nothing more, except by AcquireNested, and returns a channel that is closed when nothing is inside any more. If that
// was so, and AcquireNested has admitted more since, it returns another channel.
func (l *Limiter) Close() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed || l.told && l.inside > 0 {
		l.closed, l.told, l.drained = true, false, make(chan struct{})
		l.notifyDrainedLocked()
	}
	return l.drained
}

// Count returns how many are inside, and how many of them run.
func (l *Limiter) Count() (inside, running int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inside, l.running
}
