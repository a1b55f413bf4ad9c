package bus

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/status"
)

// nats.go reconnects for ever, but closes a connection for good if the broker reports an error that it does not know: that a
// line is too long, for example, which code that publishes on [Conn.NATS] may cause. The connection is then replaced, with all
// subscriptions.

// How long to wait between attempts to replace a connection.
const (
	firstRedial   = 100 * time.Millisecond
	longestRedial = 5 * time.Second
)

// conn returns the broker connection.
func (l *link) conn() *nats.Conn { return l.current.Load() }

// watch follows how the broker connection is doing, until ctx ends.
func (l *link) watch(ctx context.Context) {
	defer close(l.watched)
	defer l.state.stop()
	for l.follow(ctx) {
		if !l.owned {
			l.state.begin(0) // it is not made anew
			l.log(l.logger.Error().Err(l.conn().LastError()),
				"the broker connection given with bus.WithNATS is closed: calls fail until the process opens another one and calls bus.Connect with it")
			return
		}
		if l.reconnect(ctx) != nil {
			return
		}
	}
}

// follow returns true when the broker connection is closed, false when ctx has ended.
func (l *link) follow(ctx context.Context) (closed bool) {
	connection := l.conn()
	changes := connection.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	defer connection.RemoveStatusListener(changes)
	for {
		switch connection.Status() {
		case nats.CONNECTED:
			if l.state.end() {
				l.onReconnect()
			}
		case nats.CLOSED:
			l.denials.forget()
			l.state.begin(outageGrace)
			return true
		case nats.RECONNECTING, nats.DISCONNECTED:
			l.denials.forget()
			l.state.begin(outageGrace)
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return false
		}
	}
}

// onReconnect has all connections do at once what an outage has put off.
func (l *link) onReconnect() {
	for _, member := range l.members() {
		member.events.fetchNow()
	}
}

// reconnect replaces the broker connection; it tries until it succeeds or ctx ends.
func (l *link) reconnect(ctx context.Context) error {
	l.log(l.logger.Error().Err(l.conn().LastError()), "the broker connection was closed; opening a new one")
	for pause := firstRedial; ; pause = min(2*pause, longestRedial) {
		made, err := l.redial(ctx)
		if err == nil {
			if err = l.switchConn(ctx, made); err == nil {
				l.dispatcher.sweep(ctx)
				return nil
			}
			made.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.log(l.logger.Warn().Err(err), "no new broker connection yet; trying again")
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// switchConn makes all connections that share the link subscribe on another broker connection, and only then send on it: a caller
// has to hear the answers.
func (l *link) switchConn(ctx context.Context, to *nats.Conn) error {
	for _, member := range l.members() {
		if err := member.resubscribe(to); err != nil {
			return err
		}
	}
	if err := l.services.resubscribe(to); err != nil {
		return err
	}
	if err := flushed(ctx, to); err != nil {
		return err
	}
	l.current.Store(to)
	l.relinked.Add(1)
	l.log(l.logger.Info().Str("url", to.ConnectedUrlRedacted()), "a new broker connection is open")
	return nil
}

// resubscribe makes all subscriptions again. A connection that is closing takes no more requests.
func (c *Conn) resubscribe(on *nats.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing != nil {
		c.subscriptions = c.subscriptions[:min(len(c.subscriptions), responseSubscriptions)]
	}
	for _, each := range c.subscriptions {
		if err := each.subscribe(on); err != nil {
			return err
		}
	}
	return nil
}

// join adds a connection of this process to those that move with the link.
func (l *link) join(c *Conn) {
	l.joining.Lock()
	defer l.joining.Unlock()
	l.joined = append(l.joined, c)
}

func (l *link) leave(c *Conn) {
	l.joining.Lock()
	defer l.joining.Unlock()
	l.joined = slices.DeleteFunc(l.joined, func(other *Conn) bool { return other == c })
}

func (l *link) members() []*Conn {
	l.joining.Lock()
	defer l.joining.Unlock()
	return slices.Clone(l.joined)
}

// awaitOpen waits until the connection of a link that was dialled can be used, or was given and is closed for good: the broker may
// be away, and a connection of our own may be being replaced.
func (l *link) awaitOpen(ctx context.Context) error {
	for !l.failed() && !l.isOpen() {
		if err := l.awaitChange(ctx); err != nil {
			return err
		}
	}
	return nil
}

// isOpen reports whether the broker is there. An outage ends a moment after there is a connection.
func (l *link) isOpen() bool { return l.conn().IsConnected() && !l.state.isDown() }

// awaitChange returns when isOpen may say something else.
func (l *link) awaitChange(ctx context.Context) error {
	news, connection := l.state.news(), l.conn()
	changed := connection.StatusChanged(nats.CONNECTED) // there is no news of an outage that was too short to be noticed
	defer connection.RemoveStatusListener(changed)
	if l.isOpen() {
		return nil
	}
	select {
	case <-news:
		return nil
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

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

// connState tells those that wait for the broker whether it is there. A call looks at it once.
type connState struct {
	over        atomic.Pointer[chan struct{}] // closed when the broker has been away too long; a new one once it is back
	stableSince atomic.Int64                  // Unix nanoseconds: requests that came earlier have seen an outage, or are in one

	mu      sync.Mutex // protects all below
	down    bool
	changed chan struct{} // closed when the broker comes or goes, and then replaced
	timer   *time.Timer   // runs while the broker is away
	back    time.Time     // when it came back the last time
}

func newConnState() *connState {
	o := &connState{changed: make(chan struct{})}
	o.renew()
	return o
}

func (o *connState) renew() {
	over := make(chan struct{})
	o.over.Store(&over)
}

// graceExpired returns a channel that is closed when the broker has been away for longer than a call waits.
func (o *connState) graceExpired() <-chan struct{} { return *o.over.Load() }

// news returns a channel that is closed when the broker comes or goes.
func (o *connState) news() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// begin says that the broker is away. Those that wait for it do so for the grace, which is 0 if it will not come back.
func (o *connState) begin(grace time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down && grace > 0 {
		return
	}
	o.down = true
	o.stableSince.Store(math.MaxInt64)
	o.notifyLocked()
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
func (o *connState) end() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.down {
		return false
	}
	o.down, o.back = false, time.Now()
	o.stableSince.Store(o.back.UnixNano())
	o.notifyLocked()
	if o.timer == nil || !o.timer.Stop() {
		o.renew()
	}
	o.timer = nil
	return true
}

// notifyLocked wakes all that wait.
func (o *connState) notifyLocked() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// stop lets go of the timer; no caller waits any more.
func (o *connState) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
}

// recent reports whether the broker is away, or was a moment ago.
func (o *connState) recent() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.down || !o.back.IsZero() && time.Since(o.back) < settlingTime
}

func (o *connState) isDown() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.down
}

// outlasted is the error for a call during which the broker went away for too long.
func outlasted(host string) *status.Error {
	return status.Errorf(http.StatusServiceUnavailable, status.ExecutedUnknown, status.ErrDisconnected,
		"the broker went away while the call to %s was under way, and did not come back within %s", host, outageGrace)
}

// awaitReturn waits until all have had the time to come back from the latest outage, as long as ctx allows.
func (o *connState) awaitReturn(ctx context.Context) {
	o.mu.Lock()
	left := time.Until(o.back.Add(returnTime))
	o.mu.Unlock()
	if left > 0 {
		sleep(ctx, left)
	}
}

// awaitBroker holds a response back while the broker is away, and until its caller may be back, too, for as long as that waits
// for one.
func (c *Conn) awaitBroker(in *serverCall) {
	if in.backTo == "" || in.began.UnixNano() >= c.link.state.stableSince.Load() && c.Connected() {
		return
	}
	ctx, cancel := context.WithDeadline(c.base, in.serving.deadline)
	defer cancel()
	ctx, give := context.WithTimeout(ctx, outageGrace)
	defer give()
	if c.link.awaitOpen(ctx) == nil { // while there is no broker the response is lost, and respond logs it
		c.link.state.awaitReturn(ctx)
	}
}

// retryFailed logs why the broker cannot be reached again; err is nil if that is not known. The broker client tries several times a
// second, so what it says is logged when it is something new, and as a reminder once a minute. Several brokers may fail in turn,
// each for a reason of its own.
func (l *link) retryFailed(err error) {
	if err == nil {
		return
	}
	if _, isNews := l.retries.Admit(err.Error()); !isNews {
		return
	}
	if isRefusedLogin(err) {
		l.log(l.logger.Error().Err(err), "the broker refuses the login; trying again")
		return
	}
	l.log(l.logger.Warn().Err(err), "the broker cannot be reached again yet; trying again")
}

func isRefusedLogin(err error) bool {
	for _, refusal := range []error{
		nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired,
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
