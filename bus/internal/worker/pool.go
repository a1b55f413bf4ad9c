package worker

import (
	"sync"
	"time"
)

// Job is work that may block.
type Job interface {
	// Do does the work. queued reports that the job has waited in a Backlog.
	Do(queued bool)
	// Urgent reports whether the job must not wait behind others.
	Urgent() bool
}

// Pool runs jobs on goroutines that have run others before: the stack of such a goroutine has grown already, and growing
// it costs more than many a handler. The zero value is ready, and safe for concurrent use.
type Pool struct {
	mu     sync.Mutex // protects all below
	idle   []chan Job // one for each goroutine that waits; the last one has waited for the shortest time
	least  int        // how few were idle since the last review: so many are not needed
	review *time.Timer
	closed bool
}

const (
	// maxIdle is how many goroutines wait for a job at most. Further ones end when they have nothing to do.
	maxIdle = 64

	// IdleTime is how long they wait for one at least.
	IdleTime = 250 * time.Millisecond
)

// Run runs a job on another goroutine.
func (p *Pool) Run(next Job) {
	p.mu.Lock()
	last := len(p.idle) - 1
	if last < 0 {
		p.mu.Unlock()
		go p.run(next)
		return
	}
	free := p.idle[last]
	p.idle = p.idle[:last]
	p.least = min(p.least, last)
	p.mu.Unlock()
	free <- next
}

// run is such a goroutine. If a job exits it, nothing is lost.
func (p *Pool) run(next Job) {
	jobs := make(chan Job, 1) // so that Run does not block
	for next != nil {
		next.Do(false)
		if !p.park(jobs) {
			return
		}
		next = <-jobs
	}
}

// park makes a goroutine idle. It reports false if the goroutine is not needed any more.
func (p *Pool) park(jobs chan Job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdle {
		return false
	}
	p.idle = append(p.idle, jobs)
	if p.review == nil {
		p.least = 0
		p.review = time.AfterFunc(IdleTime, p.reduce)
	}
	return true
}

// reduce ends the goroutines that have waited since the last time.
func (p *Pool) reduce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.endLocked(p.least)
	if p.least = len(p.idle); p.least > 0 {
		p.review.Reset(IdleTime)
	} else {
		p.review = nil
	}
}

// endLocked ends count of the goroutines that wait.
func (p *Pool) endLocked(count int) {
	for _, jobs := range p.idle[:count] {
		close(jobs)
	}
	p.idle = append(p.idle[:0], p.idle[count:]...)
}

// Close ends the goroutines that wait, and the others when they have done their job.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.endLocked(len(p.idle))
	if p.review != nil {
		p.review.Stop()
	}
}
