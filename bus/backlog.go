package bus

import (
	"runtime"
	"sync"
)

// backlog holds requests that were acked and admitted until they are handled. It starts a few at a time and then yields to
// whatever can run. So if handlers compute, only as many are started as the processors can cope with, and the goroutines
// that ack, send and receive do not queue behind thousands of them; if handlers wait for something else, all are started.
type backlog struct {
	workers *workers

	mu       sync.Mutex // protects all below
	requests []*incoming
	starting bool
}

// add queues a request.
func (b *backlog) add(in *incoming) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, in)
	if !b.starting {
		b.starting = true
		b.workers.start(b)
	}
}

// do starts the queued requests.
func (b *backlog) do() {
	few := make([]*incoming, 4*runtime.GOMAXPROCS(0))
	for count := b.take(few); count > 0; count = b.take(few) {
		for _, in := range few[:count] {
			b.workers.start(in)
		}
		runtime.Gosched() // comes back when nothing else can run, or all has run for a moment
	}
}

// take moves the oldest requests to a slice, and returns how many. If there are none, starting is over.
func (b *backlog) take(to []*incoming) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	count := copy(to, b.requests)
	clear(b.requests[:count])
	if b.requests = b.requests[count:]; len(b.requests) == 0 {
		b.requests = nil
	}
	b.starting = count > 0
	return count
}
