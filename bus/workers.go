package bus

import (
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
