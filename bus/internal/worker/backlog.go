package worker

import (
	"runtime"
	"sync"
)

// Backlog queues jobs and runs them in order on the goroutines of a pool. A goroutine runs one job after the other;
// while jobs are queued, another goroutine is about to start. So few goroutines run many short jobs, and a job that
// blocks delays no other:
//
//	first   do 1, 2, 3 (which waits) ────────────────────────
//	second     starting ─────────────── do 4, 5, 6
//	third                                  starting ─────── the queue is empty
//
// After maxInTurn jobs a goroutine yields, so that the goroutines that ack, send and receive are not delayed by jobs
// that compute. A Backlog is safe for concurrent use.
type Backlog struct {
	pool *Pool

	mu       sync.Mutex // protects all below
	jobs     queue[Job]
	starting bool // a goroutine is about to pop a job
	inTurn   int  // number of jobs popped since the last yield
}

// maxInTurn is the number of jobs between two yields.
const maxInTurn = 16

// NewBacklog returns an empty backlog of a pool.
func NewBacklog(pool *Pool) *Backlog { return &Backlog{pool: pool} }

// Add queues a job.
func (b *Backlog) Add(next Job) {
	b.mu.Lock()
	b.jobs.push(next)
	b.ensureWorkerAndUnlock()
}

// Hold keeps queued jobs from running until release is called. It is for tests.
func (b *Backlog) Hold() (release func()) {
	b.mu.Lock()
	b.starting = true
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		b.starting = false
		b.ensureWorkerAndUnlock()
	}
}

// ensureWorkerAndUnlock starts a goroutine if there is a job and none is starting.
func (b *Backlog) ensureWorkerAndUnlock() {
	needed := !b.starting && !b.jobs.isEmpty()
	b.starting = b.starting || needed
	b.mu.Unlock()
	if needed {
		b.pool.Run((*drain)(b))
	}
}

// drain is the job that runs the jobs of a backlog.
type drain Backlog

func (*drain) Urgent() bool { return false }

// Do runs jobs until the queue is empty or another goroutine takes over.
func (d *drain) Do(bool) {
	b := (*Backlog)(d)
	for next := b.pop(true); next != nil; next = b.pop(false) {
		next.Do(true)
	}
}

// pop returns the oldest job, or nil if there is none. If it is time to yield, a goroutine that has just started yields
// first; any other gets nil, and the starting one takes over.
func (b *Backlog) pop(starts bool) (next Job) {
	b.mu.Lock()
	if b.inTurn >= maxInTurn {
		if !starts {
			b.mu.Unlock()
			return nil
		}
		b.inTurn = 0
		b.mu.Unlock()
		runtime.Gosched() // returns when the other runnable goroutines have run
		b.mu.Lock()
	}
	if starts {
		b.starting = false
	}
	if b.jobs.isEmpty() {
		b.inTurn = 0
	} else {
		next = b.jobs.pop()
		b.inTurn++
	}
	b.ensureWorkerAndUnlock()
	return next
}

// queue is a FIFO queue. The zero value is empty.
type queue[T any] struct {
	items []T // queued from index first on
	first int
}

// maxUnused is the largest capacity that an empty queue keeps.
const maxUnused = 1024

func (q *queue[T]) isEmpty() bool { return q.first == len(q.items) }

func (q *queue[T]) push(item T) {
	if q.first > len(q.items)/2 { // reuses the space in front, so that a queue that is never empty does not grow
		left := copy(q.items, q.items[q.first:])
		clear(q.items[left:])
		q.items, q.first = q.items[:left], 0
	}
	q.items = append(q.items, item)
}

// pop removes the oldest item; there has to be one.
func (q *queue[T]) pop() T {
	var none T
	item := q.items[q.first]
	q.items[q.first] = none // for the garbage collector
	q.first++
	if q.isEmpty() {
		q.items, q.first = q.items[:0], 0
		if cap(q.items) > maxUnused {
			q.items = nil
		}
	}
	return item
}
