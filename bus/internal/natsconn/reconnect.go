package natsconn

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// nats.go reconnects for ever, but closes a connection for good if the broker reports an error that nats.go does not know: that a line
// is too long, for example, which code that publishes on [Conn.NATS] may cause. The connection is then replaced, with all
// subscriptions.

// How long to wait between attempts to replace a connection.
const (
	firstRedial   = 100 * time.Millisecond
	longestRedial = 5 * time.Second
)

// watch follows the state of the connection, and replaces it when it is closed, until ctx ends.
func (c *Conn) watch(ctx context.Context) {
	defer close(c.watched)
	defer c.state.stop()
	for c.follow(ctx) {
		if !c.owned {
			c.state.begin(0) // it is not replaced
			c.log(c.logger.Error().Err(c.NATS().LastError()),
				"the broker connection given with bus.WithNATS is closed: calls fail until the process opens another one and calls bus.Connect with it")
			close(c.lost)
			return
		}
		if c.reconnect(ctx) != nil {
			return
		}
	}
}

// follow returns true when the broker connection is closed, false when ctx has ended.
func (c *Conn) follow(ctx context.Context) (closed bool) {
	connection := c.NATS()
	changes := connection.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	defer connection.RemoveStatusListener(changes)
	for {
		switch connection.Status() {
		case nats.CONNECTED:
			if c.state.end() {
				c.onReconnect()
			}
		case nats.CLOSED:
			c.violations.forget()
			c.state.begin(OutageGrace)
			return true
		case nats.RECONNECTING, nats.DISCONNECTED:
			c.violations.forget()
			c.state.begin(OutageGrace)
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return false
		}
	}
}

// onReconnect tells all sessions that the broker is back.
func (c *Conn) onReconnect() {
	for _, session := range c.allSessions() {
		session.member.Reconnected()
	}
}

// reconnect replaces the broker connection; it tries until it succeeds or ctx ends.
func (c *Conn) reconnect(ctx context.Context) error {
	c.log(c.logger.Error().Err(c.NATS().LastError()), "the broker connection was closed; opening a new one")
	for pause := firstRedial; ; pause = min(2*pause, longestRedial) {
		made, err := c.redial(ctx)
		if err == nil {
			if err = c.switchConn(ctx, made); err == nil {
				c.dispatcher.sweep(ctx)
				return nil
			}
			made.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.log(c.logger.Warn().Err(err), "no new broker connection yet; trying again")
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// switchConn makes all sessions subscribe on another connection, and only then sends on it: a caller has to hear the answers.
func (c *Conn) switchConn(ctx context.Context, to *nats.Conn) error {
	for _, session := range c.allSessions() {
		if err := session.resubscribe(to); err != nil {
			return err
		}
	}
	if err := flush(ctx, to); err != nil {
		return err
	}
	c.current.Store(to)
	c.reconnects.Add(1)
	c.log(c.logger.Info().Str("url", to.ConnectedUrlRedacted()), "a new broker connection is open")
	return nil
}

// retryFailed logs why the broker cannot be reached again; err is nil if that is not known. nats.go tries several times a second, so a
// reason is logged when it is new, and as a reminder once a minute. Several brokers may fail in turn, each for a reason of its own.
func (c *Conn) retryFailed(err error) {
	if err == nil {
		return
	}
	if _, isNews := c.retries.Admit(err.Error()); !isNews {
		return
	}
	if isRefusedLogin(err) {
		c.log(c.logger.Error().Err(err), "the broker refuses the login; trying again")
		return
	}
	c.log(c.logger.Warn().Err(err), "the broker cannot be reached again yet; trying again")
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
