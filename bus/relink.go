package bus

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
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
	defer l.outage.stop()
	for l.follow(ctx) {
		if !l.owned {
			l.outage.begin(0) // nobody makes it anew
			l.log(l.logger.Error().Err(l.conn().LastError()),
				"the broker connection given with bus.WithNATS is closed: calls fail until the process opens another one and calls bus.Connect with it")
			return
		}
		if l.relink(ctx) != nil {
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
			if l.outage.end() {
				l.returned()
			}
		case nats.CLOSED:
			l.denials.forget()
			l.outage.begin(outageGrace)
			return true
		case nats.RECONNECTING, nats.DISCONNECTED:
			l.denials.forget()
			l.outage.begin(outageGrace)
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return false
		}
	}
}

// returned has all connections do at once what an outage has put off.
func (l *link) returned() {
	for _, member := range l.members() {
		member.events.askAnew()
	}
}

// relink replaces the broker connection; it tries until it succeeds or ctx ends.
func (l *link) relink(ctx context.Context) error {
	l.log(l.logger.Error().Err(l.conn().LastError()), "the broker connection was closed; opening a new one")
	for pause := firstRedial; ; pause = min(2*pause, longestRedial) {
		made, err := l.redial(ctx)
		if err == nil {
			if err = l.move(ctx, made); err == nil {
				l.intake.sweep(ctx)
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

// move makes all connections that share the link subscribe on another broker connection, and only then send on it: a caller
// has to hear the answers.
func (l *link) move(ctx context.Context, to *nats.Conn) error {
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

// isOpen says whether the broker is there. An outage ends a moment after there is a connection.
func (l *link) isOpen() bool { return l.conn().IsConnected() && !l.outage.isDown() }

// awaitChange returns when isOpen may say something else.
func (l *link) awaitChange(ctx context.Context) error {
	news, connection := l.outage.news(), l.conn()
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
