package bus

import (
	"net/http"
	"runtime"
	"sync"
	"time"
)

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
