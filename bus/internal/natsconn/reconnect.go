package natsconn

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"
)

// nats.go reconnects for ever, but closes a connection for good if the broker reports an error that nats.go does not
// know: that a line is too long, for example, which code that publishes on [Conn.NATS] may cause. The connection is
// then replaced, with all subscriptions.

// How long to wait between attempts to replace a connection.
const (
	firstRedial   = 100 * time.Millisecond
	longestRedial = 5 * time.Second
)

// watch follows the state of the connection, and replaces it when it is closed, until ctx ends.
func (c *Conn) watch(ctx context.Context) {
	defer close(c.watched)
	defer c.state.stop()
	for {
		leaving, closed := c.follow(ctx)
		if leaving {
			c.move(ctx)
			continue
		}
		if !closed {
			return
		}
		if !c.owned {
			c.state.begin(0) // it is not replaced
			c.log(c.logger.Error().Err(c.NATS().LastError()),
				"the broker connection given with bus.WithNATS is closed: calls fail until the process opens another one and "+
					"calls bus.Connect with it")
			close(c.lost)
			return
		}
		if c.reconnect(ctx) != nil {
			return
		}
	}
}

// follow returns when the broker connection is closed, or its server is leaving, or ctx has ended.
func (c *Conn) follow(ctx context.Context) (leaving, closed bool) {
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
			return false, true
		case nats.RECONNECTING, nats.DISCONNECTED:
			c.violations.forget()
			c.state.begin(OutageGrace)
		}
		select {
		case change := <-changes:
			if change != nats.CONNECTED {
				c.state.begin(OutageGrace) // a short one is over already
			}
		case of := <-c.leaving:
			if of == connection && connection.IsConnected() {
				return true, false
			}
		case <-ctx.Done():
			return false, false
		}
	}
}

// onReconnect reports to all sessions that the broker is back.
func (c *Conn) onReconnect() {
	for _, session := range c.allSessions() {
		session.member.Reconnected()
	}
}

// reconnect replaces the broker connection; it tries until it succeeds or ctx ends.
func (c *Conn) reconnect(ctx context.Context) error {
	c.log(c.logger.Error().Err(c.NATS().LastError()), "the broker connection was closed; opening a new one")
	for pause := firstRedial; ; pause = min(2*pause, longestRedial) {
		fresh, err := c.redial(ctx, nil)
		if err == nil {
			if err = c.switchConn(ctx, fresh); err == nil {
				c.dispatcher.sweep(ctx)
				return nil
			}
			fresh.Close()
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

// moveTries is how often to try to reach another server before the leaving one closes the connection. nats.go
// reconnects then.
const moveTries = 5

// move replaces the connection to a server that is about to shut down while both ends are alive, so that no call fails.
// The old connection is drained once all sessions have subscribed on the new one.
func (c *Conn) move(ctx context.Context) {
	old := c.NATS()
	pause := c.spread(soonAgain) // not all clients move at once
	for range moveTries {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		if !old.IsConnected() {
			return
		}
		fresh, err := c.redial(ctx, old)
		if err == nil {
			c.moveTo(ctx, old, fresh)
			return
		}
		c.log(c.logger.Debug().Err(err), "no other broker can be reached yet")
		pause = laterAgain/2 + c.spread(laterAgain)
	}
}

// moveTo moves to another connection. Until the old one is drained what is sent to all subscribers arrives on both.
func (c *Conn) moveTo(ctx context.Context, old, to *nats.Conn) {
	c.dispatcher.beginOverlap()
	defer c.dispatcher.endOverlap()
	if err := c.switchConn(ctx, to); err != nil {
		c.log(c.logger.Warn().Err(err), "cannot move to another broker before this one shuts down")
		to.Close()
		return
	}
	closed := old.StatusChanged(nats.CLOSED, nats.RECONNECTING)
	defer old.RemoveStatusListener(closed)
	select { // until the other servers know that messages go to the new one
	case <-time.After(returnTime):
	case <-ctx.Done():
	}
	if old.Drain() == nil {
		select {
		case <-closed:
		case <-ctx.Done():
		}
	}
	old.Close()
	c.dispatcher.sweep(ctx)
}

// awayFrom leaves the server of a connection out of those to connect to, if there are others: it is about to shut down.
// The servers that it has announced take the login of the URL, as with nats.go.
func awayFrom(leaving *nats.Conn) nats.Option {
	return func(o *nats.Options) error {
		left := ""
		if at, err := url.Parse(leaving.ConnectedUrl()); err == nil {
			left = at.Host
		}
		login := (*url.Userinfo)(nil)
		var others []string
		for _, address := range o.Servers {
			if at, err := parseBroker(address); err == nil {
				login = cmp.Or(login, at.User)
				if at.Host != left {
					others = append(others, address)
				}
			}
		}
		for _, address := range leaving.DiscoveredServers() {
			if at, err := parseBroker(address); err == nil && at.Host != left {
				at.User = login
				others = append(others, at.String())
			}
		}
		if len(others) > 0 {
			o.Url, o.Servers = "", others
		}
		return nil
	}
}

// switchConn makes all sessions subscribe on another connection, and only then sends on it: a caller has to receive the
// answers.
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

// retryFailed logs why the broker cannot be reached again; err is nil if that is not known. nats.go tries several times
// a second, so a reason is logged when it is new, and as a reminder once a minute. Several brokers may fail in turn,
// each for a reason of its own.
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
