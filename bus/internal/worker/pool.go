package worker

import (
	"sync"
	"time"
)

// Job is work that may block.
type Job interface {
	// Do does the work. queued reports whether the job was in a Backlog.
	Do(queued bool)
	// Urgent reports whether the job must not wait behind others.
	Urgent() bool
}

// Pool runs jobs on goroutines that it reuses, as their stacks have grown already: growing a stack costs more than many
// handlers. The zero value is ready to use and safe for concurrent use.
type Pool struct {
	mu     sync.Mutex  // protects all below
	idle   []chan Job  // one for each idle goroutine, the most recent last
	least  int         // lowest number of idle goroutines since the last review: these are not needed
	review *time.Timer // calls reduce; nil if no goroutine is idle
	closed bool        // Close was called
}

const (
	// maxIdle is the largest number of idle goroutines. Others end after their job.
	maxIdle = 64

	// IdleTime is the shortest time for which an idle goroutine waits for a job.
	IdleTime = 250 * time.Millisecond
)

// Run runs a job on another goroutine.
func (p *Pool) Run(next Job) {
	if !p.mu.TryLock() {
		go p.run(next)
		return
	}
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

// run runs jobs on its goroutine until the goroutine is not needed. A job may call runtime.Goexit.
func (p *Pool) run(next Job) {
	jobs := make(chan Job, 1) // buffered, so that Run does not block
	for next != nil {
		next.Do(false)
		if !p.park(jobs) {
			return
		}
		next = <-jobs
	}
}

// park makes a goroutine idle. It reports whether the goroutine is still needed.
func (p *Pool) park(jobs chan Job) bool {
	if !p.mu.TryLock() {
		return false
	}
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

// reduce ends the goroutines that have been idle since the last review.
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

// endLocked ends the count goroutines that have been idle longest.
func (p *Pool) endLocked(count int) {
	for _, jobs := range p.idle[:count] {
		close(jobs)
	}
	p.idle = append(p.idle[:0], p.idle[count:]...)
}

// Close ends idle goroutines at once, and the others after their job.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.endLocked(len(p.idle))
	if p.review != nil {
		p.review.Stop()
	}
}
