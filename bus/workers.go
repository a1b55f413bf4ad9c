package bus

import (
	"net/http"
	"runtime"
	"sync"
	"time"
)

// job is work that may block.
type job interface{ do() }

// workers run jobs on goroutines that have run others before: the stack of such a goroutine has grown already, and growing
// it costs more than many a handler.
type workers struct {
	mu     sync.Mutex // protects all below
	idle   []chan job // one for each goroutine that waits; the last one has waited for the shortest time
	least  int        // how few were idle since the last review: so many are not needed
	review *time.Timer
	closed bool
}

const (
	// maxIdle is how many goroutines wait for a job at most. Further ones end when they have nothing to do.
	maxIdle = 64

	// idleTime is how long they wait for one at least.
	idleTime = 250 * time.Millisecond
)

// start runs a job on another goroutine.
func (w *workers) start(next job) {
	w.mu.Lock()
	last := len(w.idle) - 1
	if last < 0 {
		w.mu.Unlock()
		go w.work(next)
		return
	}
	free := w.idle[last]
	w.idle = w.idle[:last]
	w.least = min(w.least, last)
	w.mu.Unlock()
	free <- next
}

// work is such a goroutine. If a handler exits it, nothing is lost.
func (w *workers) work(next job) {
	jobs := make(chan job, 1) // so that start does not block
	for next != nil {
		next.do()
		if !w.rest(jobs) {
			return
		}
		next = <-jobs
	}
}

// rest makes a goroutine idle; false if it is not needed any more.
func (w *workers) rest(jobs chan job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) >= maxIdle {
		return false
	}
	w.idle = append(w.idle, jobs)
	if w.review == nil {
		w.least = 0
		w.review = time.AfterFunc(idleTime, w.reduce)
	}
	return true
}

// reduce ends the goroutines that have waited since the last time.
func (w *workers) reduce() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.end(w.least)
	if w.least = len(w.idle); w.least > 0 {
		w.review.Reset(idleTime)
	} else {
		w.review = nil
	}
}

// end ends count of the goroutines that wait. The lock is held.
func (w *workers) end(count int) {
	for _, jobs := range w.idle[:count] {
		close(jobs)
	}
	w.idle = append(w.idle[:0], w.idle[count:]...)
}

// close ends the goroutines that wait, and the others when they have done their job.
func (w *workers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.end(len(w.idle))
	if w.review != nil {
		w.review.Stop()
	}
}

// backlog holds requests that were acked and admitted until they are handled. A goroutine that has handled one handles the next,
// and as long as there are requests, another goroutine is about to come. So handlers that return soon take turns on few
// goroutines, and one that waits for something holds up nobody:
//
//	first   handle 1, 2, 3 (which waits) ────────────────────
//	second     about to come ────────── handle 4, 5, 6
//	third                                  about to come ── nothing is left
//
// Now and then they let everything go first that can run. So if handlers compute, the goroutines that ack, send and receive do
// not queue behind them.
type backlog struct {
	workers *workers

	mu       sync.Mutex // protects all below
	requests queue[*incoming]
	coming   bool // somebody is about to take one
	inTurn   int  // how many were taken since others were let go first
}

// maxInTurn is how many requests are taken before others are let go first.
const maxInTurn = 16

// add queues a request.
func (b *backlog) add(in *incoming) {
	in.queued = true
	b.mu.Lock()
	b.requests.push(in)
	b.call()
}

// call has somebody come unless somebody is about to, or there is nothing to take. It unlocks.
func (b *backlog) call() {
	needed := !b.coming && !b.requests.isEmpty()
	b.coming = b.coming || needed
	b.mu.Unlock()
	if needed {
		b.workers.start(b)
	}
}

// do handles requests until none is left, or somebody else takes over.
func (b *backlog) do() {
	for in := b.take(true); in != nil; in = b.take(false) {
		in.do()
	}
}

// take returns the oldest request. It returns nil if there is none, or if it is time to let others go first: whoever is about to
// come does that, and takes over.
func (b *backlog) take(comes bool) (in *incoming) {
	b.mu.Lock()
	if b.inTurn >= maxInTurn {
		if !comes {
			b.mu.Unlock()
			return nil
		}
		b.inTurn = 0
		b.mu.Unlock()
		runtime.Gosched() // comes back when nothing else can run, or all has run for a moment
		b.mu.Lock()
	}
	if comes {
		b.coming = false
	}
	if b.requests.isEmpty() {
		b.inTurn = 0
	} else {
		in = b.requests.pop()
		b.inTurn++
	}
	b.call()
	return in
}

// late says why a request is not handled although its turn has come: its caller does not wait for an answer any more. An
// instance that has too much to do would otherwise work in vain, and have even less time for the others. An event is handled
// all the same: nobody waits for that anyway.
func (in *incoming) late() error {
	switch {
	case !in.queued || in.endpoint.source != "":
		return nil
	case time.Since(in.began) >= in.Request.TimeBudget: // not the end of the context, which may be that of the endpoint
		return newError(http.StatusGatewayTimeout, ExecutedNo, ErrTimeout, "the time budget was spent while the request waited for its turn")
	case in.serving.left():
		return newError(http.StatusServiceUnavailable, ExecutedNo, ErrCallerLeft, "the caller left while the request waited for its turn")
	default:
		return nil
	}
}

// queue is first in, first out. The zero value is empty.
type queue[T any] struct {
	items []T // from first on
	first int
}

// maxUnused is how much room is kept for later items, once the queue is empty.
const maxUnused = 1024

func (q *queue[T]) isEmpty() bool { return q.first == len(q.items) }

func (q *queue[T]) push(item T) {
	if q.first > len(q.items)/2 { // the room in front is used again, so that a queue that is never empty does not grow
		left := copy(q.items, q.items[q.first:])
		clear(q.items[left:])
		q.items, q.first = q.items[:left], 0
	}
	q.items = append(q.items, item)
}

// pop takes out the oldest item; there has to be one.
func (q *queue[T]) pop() T {
	var none T
	item := q.items[q.first]
	q.items[q.first] = none // so that it can be collected
	q.first++
	if q.isEmpty() {
		q.items, q.first = q.items[:0], 0
		if cap(q.items) > maxUnused {
			q.items = nil
		}
	}
	return item
}
