package bus

import (
	"context"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// outageGrace is how long calls under way wait for their answers while the broker is away, and finished handlers to send
	// theirs. A connection that was cut is back well within it.
	outageGrace = 2 * time.Second
	// settlingTime is how long after an outage no instance is taken for lost: it may still be reconnecting.
	settlingTime = 2 * time.Second
	// returnTime is how long after an outage the response to a request from before it is held back: its caller has most likely
	// lost the broker, too, tries again each 150 ms at the latest, and cannot hear anything before it is back.
	returnTime = 300 * time.Millisecond
)

// outage tells those that wait for the broker whether it is there. A call looks at it once.
type outage struct {
	over atomic.Pointer[chan struct{}] // closed when the broker has been away too long; a new one once it is back
	calm atomic.Int64                  // Unix nanoseconds: requests that came earlier have seen an outage, or are in one

	mu      sync.Mutex // protects all below
	down    bool
	changed chan struct{} // closed when the broker comes or goes, and then replaced
	timer   *time.Timer   // runs while the broker is away
	back    time.Time     // when it came back the last time
}

func newOutage() *outage {
	o := &outage{changed: make(chan struct{})}
	o.renew()
	return o
}

func (o *outage) renew() {
	over := make(chan struct{})
	o.over.Store(&over)
}

// tooLong returns a channel that is closed when the broker has been away for longer than a call waits.
func (o *outage) tooLong() <-chan struct{} { return *o.over.Load() }

// news returns a channel that is closed when the broker comes or goes.
func (o *outage) news() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// begin says that the broker is away. Those that wait for it do so for the grace, which is 0 if it will not come back.
func (o *outage) begin(grace time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down && grace > 0 {
		return
	}
	o.down = true
	o.calm.Store(math.MaxInt64)
	o.tell()
	over := *o.over.Load()
	if o.timer != nil && !o.timer.Stop() {
		return // the grace is over already
	}
	if o.timer = nil; grace <= 0 {
		close(over)
		return
	}
	o.timer = time.AfterFunc(grace, func() { close(over) })
}

// end says that the broker is back; false if it was not away.
func (o *outage) end() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.down {
		return false
	}
	o.down, o.back = false, time.Now()
	o.calm.Store(o.back.UnixNano())
	o.tell()
	if o.timer == nil || !o.timer.Stop() {
		o.renew()
	}
	o.timer = nil
	return true
}

// tell wakes everybody. The lock is held.
func (o *outage) tell() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// stop lets go of the timer; nobody waits any more.
func (o *outage) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
}

// recent says whether the broker is away, or was a moment ago.
func (o *outage) recent() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.down || !o.back.IsZero() && time.Since(o.back) < settlingTime
}

func (o *outage) isDown() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.down
}

// outlasted is the error for a call during which the broker went away for too long.
func outlasted(host string) *Error {
	return newError(http.StatusServiceUnavailable, ExecutedUnknown, ErrDisconnected,
		"the broker went away while the call to %s was under way, and did not come back within %s", host, outageGrace)
}

// awaitReturn waits until all have had the time to come back from the latest outage, as long as ctx allows.
func (o *outage) awaitReturn(ctx context.Context) {
	o.mu.Lock()
	left := time.Until(o.back.Add(returnTime))
	o.mu.Unlock()
	if left > 0 {
		sleep(ctx, left)
	}
}

// awaitBroker holds a response back while the broker is away, and until its caller may be back, too, for as long as that waits
// for one.
func (c *Conn) awaitBroker(in *incoming) {
	if in.backTo == "" || in.began.UnixNano() >= c.link.outage.calm.Load() && c.Connected() {
		return
	}
	ctx, cancel := context.WithDeadline(c.base, in.serving.deadline)
	defer cancel()
	ctx, give := context.WithTimeout(ctx, outageGrace)
	defer give()
	if c.link.awaitOpen(ctx) == nil { // while there is no broker the response is lost, and respond logs it
		c.link.outage.awaitReturn(ctx)
	}
}
