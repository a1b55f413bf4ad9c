package bus

import (
	"runtime"
	"sync"
)

// backlog holds requests that were acked and admitted until they are handled. A goroutine that has handled one handles the next,
// and as long as there are requests, another goroutine is about to come. So handlers that return soon take turns on few
// goroutines, and one that waits for something else holds up nobody:
//
//	first   handle 1, 2, 3 (which waits) ─────────────────
//	second     about to come ─────── handle 4, 5, 6
//	third                               about to come ── nothing is left
//
// Whoever comes lets everything go first that can run. So if handlers compute, the goroutines that ack, send and receive do not
// queue behind them.
type backlog struct {
	workers *workers

	mu       sync.Mutex // protects all below
	requests queue[*incoming]
	coming   bool // somebody is about to take one
}

// maxInTurn is how many requests a goroutine handles before it lets others go first.
const maxInTurn = 16

// add queues a request.
func (b *backlog) add(in *incoming) {
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
	runtime.Gosched()
	b.arrive()
	for handled := 1; ; handled++ {
		in := b.take()
		if in == nil {
			return
		}
		in.do()
		if handled%maxInTurn != 0 {
			continue
		}
		if b.isRelieved() {
			return
		}
		runtime.Gosched()
	}
}

// arrive says that whoever was about to come is there.
func (b *backlog) arrive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.coming = false
}

// take returns the oldest request, nil if there is none.
func (b *backlog) take() (in *incoming) {
	b.mu.Lock()
	if !b.requests.isEmpty() {
		in = b.requests.pop()
	}
	b.call()
	return in
}

// isRelieved says whether somebody else is about to take the next request.
func (b *backlog) isRelieved() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.coming
}
