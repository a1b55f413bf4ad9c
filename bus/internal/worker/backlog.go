package worker

import (
	"runtime"
	"sync"
)

// Backlog holds jobs until they are done. A goroutine that has done one does the next, and as long as there are jobs, another goroutine
// is about to start. So short jobs take turns on few goroutines, and one that waits for something holds up no other:
//
//	first   do 1, 2, 3 (which waits) ────────────────────────
//	second     starting ─────────────── do 4, 5, 6
//	third                                  starting ─────── nothing is left
//
// Now and then they let everything else run first. So if jobs compute, the goroutines that ack, send and receive do not queue
// behind them. It is safe for concurrent use.
type Backlog struct {
	pool *Pool

	mu       sync.Mutex // protects all below
	jobs     queue[Job]
	starting bool // a goroutine is about to take a job
	inTurn   int  // how many were taken since others were let run first
}

// maxInTurn is how many jobs are taken before others are let run first.
const maxInTurn = 16

// NewBacklog returns an empty backlog of a pool.
func NewBacklog(pool *Pool) *Backlog { return &Backlog{pool: pool} }

// Add queues a job.
func (b *Backlog) Add(next Job) {
	b.mu.Lock()
	b.jobs.push(next)
	b.ensureWorkerAndUnlock()
}

// Hold has queued jobs wait until release is called. It is for tests.
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

// ensureWorkerAndUnlock starts a goroutine unless one is starting, or there is no job.
func (b *Backlog) ensureWorkerAndUnlock() {
	needed := !b.starting && !b.jobs.isEmpty()
	b.starting = b.starting || needed
	b.mu.Unlock()
	if needed {
		b.pool.Run((*drain)(b))
	}
}

// drain is the job of a goroutine that does those of a backlog.
type drain Backlog

func (*drain) Urgent() bool { return false }

// Do does jobs until none is left, or another goroutine takes over.
func (d *drain) Do(bool) {
	b := (*Backlog)(d)
	for next := b.take(true); next != nil; next = b.take(false) {
		next.Do(true)
	}
}

// take returns the oldest job. It returns nil if there is none, or if it is time to let others run first: the goroutine that starts
// does that, and takes over.
func (b *Backlog) take(starts bool) (next Job) {
	b.mu.Lock()
	if b.inTurn >= maxInTurn {
		if !starts {
			b.mu.Unlock()
			return nil
		}
		b.inTurn = 0
		b.mu.Unlock()
		runtime.Gosched() // comes back when nothing else can run, or all has run for a moment
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
