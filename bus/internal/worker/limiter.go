package worker

import (
	"math"
	"sync"
	"sync/atomic"
)

// Limiter counts the calls and events in flight, limits how many of them run, and reports when the last one is done. A
// call or event holds a slot from admission to its release, and counts until it is done.
//
// There are two classes. Calls are rejected at the limit; events wait. Events may use three quarters of the limit, and
// the last free slot is reserved for a waiting event while fewer run, so neither class starves the other.
//
// A call whose body, or whose response, is a stream may hold its slot for long. Such calls may use three quarters of
// the limit, too, and those of one sender half of these. It is safe for concurrent use.
type Limiter struct {
	limit int           // number of slots; 0 for no limit
	state atomic.Uint64 // running, inside and guarded: a call changes them at once, and without a lock

	mu       sync.Mutex     // protects all below; while state is guarded, admission needs it
	events   int            // events that hold a slot
	waiting  int            // events without a slot
	streams  int            // calls that stream
	senders  map[string]int // calls that stream, by sender; without those that have none
	closed   bool           // Close was called
	drained  chan struct{}  // made by Close; closed when no call or event is inside
	notified bool           // drained is closed
}

// The parts of Limiter.state.
const (
	oneRunning = uint64(1)       // a call or an event holds a slot
	oneInside  = uint64(1) << 31 // a call or an event is admitted or waits, and is not done
	guarded    = uint64(1) << 62 // the limiter is closed, or an event waits
)

func running(state uint64) int { return int(state % oneInside) }
func inside(state uint64) int  { return int(state &^ guarded / oneInside) }

// Outcome is the decision of a Limiter.
type Outcome int

// Outcomes.
const (
	Admitted Outcome = iota
	Full
	Closed
)

// NewLimiter returns a limiter with this number of slots; 0 stands for no limit.
func NewLimiter(limit int) *Limiter { return &Limiter{limit: limit} }

// Acquire admits a call that cannot wait. An admitted call must Release its slot and then be Done.
func (l *Limiter) Acquire() Outcome {
	for {
		switch state := l.state.Load(); {
		case state&guarded != 0:
			return l.acquireGuarded()
		case l.limit > 0 && running(state) >= l.limit:
			return Full
		case l.state.CompareAndSwap(state, state+oneRunning+oneInside):
			return Admitted
		}
	}
}

// acquireGuarded admits a call beside events that wait: the last slot is for one of them while fewer than their share
// run.
func (l *Limiter) acquireGuarded() Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	slots := l.limit
	if l.waiting > 0 && l.events < l.shareLocked() {
		slots--
	}
	switch {
	case l.closed:
		return Closed
	case l.limit > 0 && running(l.state.Load()) >= slots:
		return Full
	}
	l.state.Add(oneRunning + oneInside)
	return Admitted
}

// shareLocked returns how many events, and how many calls that stream, may run: all but a quarter of the limit.
func (l *Limiter) shareLocked() int {
	const quarter = 4
	return l.limit - l.limit/quarter
}

// BeginStream counts an admitted call as one that streams, and reports whether its sender may have one more. It must
// EndStream.
func (l *Limiter) BeginStream(sender string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if share := l.shareLocked(); l.limit > 0 && (l.streams >= share || l.senders[sender] >= (share+1)/2) {
		return false
	}
	if l.senders == nil {
		l.senders = make(map[string]int)
	}
	l.streams++
	l.senders[sender]++
	return true
}

// EndStream ends what BeginStream began.
func (l *Limiter) EndStream(sender string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams--
	if l.senders[sender]--; l.senders[sender] == 0 {
		delete(l.senders, sender)
	}
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
	return max(0, min(l.limit-running(l.state.Load()), l.shareLocked()-l.events))
}

// AcquireEvent admits an event. If there is no slot, or isTurn is false, the event counts as waiting: it must then
// StartEvent or AbandonEvent. An admitted event must ReleaseEvent and then be Done.
func (l *Limiter) AcquireEvent(isTurn bool) Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return Closed
	}
	l.state.Add(oneInside)
	if !isTurn || !l.startEventLocked() {
		l.waiting++
		l.state.Or(guarded)
		return Full
	}
	return Admitted
}

// StartEvent gives a slot to a waiting event, even after Close. It reports whether there was one.
func (l *Limiter) StartEvent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.startEventLocked() {
		return false
	}
	l.endWaitLocked()
	return true
}

// startEventLocked gives a slot to an event, and reports whether there was one.
func (l *Limiter) startEventLocked() bool {
	for {
		state := l.state.Load()
		if l.freeForEventsLocked() == 0 {
			return false
		}
		if l.state.CompareAndSwap(state, state+oneRunning) {
			l.events++
			return true
		}
	}
}

// endWaitLocked ends the wait of an event.
func (l *Limiter) endWaitLocked() {
	if l.waiting--; l.waiting == 0 && !l.closed {
		l.state.And(^guarded)
	}
}

// ReleaseEvent gives back the slot of an event.
func (l *Limiter) ReleaseEvent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events--
	l.Release()
}

// AbandonEvent ends the wait of an event. The event is then done.
func (l *Limiter) AbandonEvent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endWaitLocked()
	l.state.Add(^(oneInside - 1))
	l.notifyDrainedLocked()
}

// AcquireNested admits a call that was made by a call inside this limiter, or inside another one of the connection. It
// does so even after Close and at the limit.
func (l *Limiter) AcquireNested() { l.state.Add(oneRunning + oneInside) }

// Release gives back a slot, before Done or while the call only waits.
func (l *Limiter) Release() { l.state.Add(^(oneRunning - 1)) }

// Reacquire takes a slot again after Release, even at the limit.
func (l *Limiter) Reacquire() { l.state.Add(oneRunning) }

// Done ends a call or an event that has released its slot.
func (l *Limiter) Done() {
	if l.state.Add(^(oneInside-1))&guarded == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notifyDrainedLocked()
}

// notifyDrainedLocked closes drained once nothing is inside. AcquireNested may still admit calls afterwards.
func (l *Limiter) notifyDrainedLocked() {
	if l.closed && inside(l.state.Load()) == 0 && !l.notified {
		l.notified = true
		close(l.drained)
	}
}

// Close stops admission, except by AcquireNested, and returns a channel that is closed when the last call or event is
// done. If that channel is closed already and AcquireNested has admitted more since, Close returns another channel.
func (l *Limiter) Close() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Or(guarded)
	if !l.closed || l.notified && inside(l.state.Load()) > 0 {
		l.closed, l.notified, l.drained = true, false, make(chan struct{})
		l.notifyDrainedLocked()
	}
	return l.drained
}

// Count returns the number of calls and events inside, and how many of them run.
func (l *Limiter) Count() (admitted, executing int) {
	state := l.state.Load()
	return inside(state), running(state)
}
