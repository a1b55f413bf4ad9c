package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/testbroker"
)

// dial sets what the link consists of, or err, and says so.
func (l *link) dial(ctx context.Context, name string, config *connectConfig) {
	defer close(l.dialled)
	l.quiet, _ = config.linkConfig.provider.(testbroker.Quiet)
	made := config.linkConfig.nats
	if made != nil {
		l.err = usable(ctx, made)
	} else {
		made, l.err = l.dialOwn(ctx, name, config)
	}
	if l.err == nil {
		l.current.Store(made)
		ctx, cancel := context.WithCancel(context.Background()) // release ends it
		l.unwatch = cancel
		go l.watch(ctx)
	}
}

// dialOwn makes a connection of our own, and notes how to make another.
func (l *link) dialOwn(ctx context.Context, name string, config *connectConfig) (*nats.Conn, error) {
	options, err := l.natsOptions(name, config)
	if err != nil {
		return nil, err
	}
	l.owned = true
	timeout := config.linkConfig.attemptTimeout()
	l.redial = func(ctx context.Context) (*nats.Conn, error) {
		return config.linkConfig.connect(ctx, timeout, options, &l.writer)
	}
	return dialUntil(ctx, config.linkConfig, l.redial)
}

// attemptTimeout is how long one broker may take to answer, so that each has its turn before the time to connect is up.
func (c linkConfig) attemptTimeout() time.Duration {
	each := c.patience() / time.Duration(max(1, len(c.addresses())))
	return max(1, min(dialTimeout, each))
}

// usable says what is wrong with a connection that was handed over. One that is on its way to the broker is waited for.
func usable(ctx context.Context, given *nats.Conn) error {
	if given.Opts.NoEcho {
		return errors.New("the connection given with bus.WithNATS was made with nats.NoEcho, so the services on it would not receive each other's messages: leave out nats.NoEcho")
	}
	changed := given.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer given.RemoveStatusListener(changed)
	for !given.IsConnected() {
		if given.IsClosed() {
			return errors.New("the connection given with bus.WithNATS is closed")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return notConnected(given, ctx.Err())
		}
	}
	return nil
}

func notConnected(given *nats.Conn, err error) error {
	return fmt.Errorf("the connection given with bus.WithNATS is not connected (%s): %w", given.Status(), err)
}

// inboxes is what the subjects begin with on which the client of NATS, and so JetStream, is answered.
func (l *link) inboxes() string {
	if own := l.conn().Opts.InboxPrefix; own != "" {
		return own + "."
	}
	return nats.InboxPrefix
}

// dialUntil tries until the broker answers, the time is up or trying is pointless: a service may be started
// before its broker. Who waits for nothing has one attempt.
func dialUntil(ctx context.Context, config linkConfig, try func(context.Context) (*nats.Conn, error)) (*nats.Conn, error) {
	var before error // of an attempt that was not cut short
	for {
		connection, err := try(ctx)
		if err == nil {
			return connection, nil
		}
		if ctx.Err() != nil {
			return nil, noBroker(config, cmp.Or(before, err))
		}
		before = err
		if config.provider == nil && !mayPass(err) {
			return nil, fmt.Errorf("connect to %s: %w; check BUS_NATS_URL, BUS_NATS_CREDS and the other BUS_NATS_ variables", config.address(), err)
		}
		if scheme := config.foreignScheme(); config.provider == nil && scheme != "" {
			return nil, fmt.Errorf("connect to %s: %w; a broker's URL has the scheme nats, tls, ws or wss, not %s: change BUS_NATS_URL or bus.WithURL", config.address(), err, scheme)
		}
		if config.connectTimeout == 0 {
			return nil, noBroker(config, err)
		}
		select {
		case <-ctx.Done():
			return nil, noBroker(config, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// noBroker says why nobody waits for the broker any longer. Whoever is cancelled does not know whether it is there.
func noBroker(config linkConfig, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w before the broker was reached", err)
	}
	if config.nats != nil {
		return notConnected(config.nats, err)
	}
	remedy := "start one, or set BUS_NATS_URL or bus.WithURL"
	if config.provider != nil {
		remedy = "start it first, and close it last; one with users is reached with bus.WithURL or bus.WithNATS"
	}
	place := config.address()
	if _, isNetwork := errors.AsType[*net.OpError](err); isNetwork && strings.Contains(place, withheld) { // it names what was dialled
		err = errors.New("it cannot be reached; in a password, a comma is %2C")
	}
	return fmt.Errorf("no broker at %s: %w; %s", place, err, remedy)
}

// withheld stands for what may be a part of a login.
const withheld = "…"

// mayPass says whether trying again can help: it does when nothing listens yet.
func mayPass(err error) bool {
	if _, isFile := errors.AsType[*fs.PathError](err); isFile {
		return false // of certificates or credentials, which cannot be read
	}
	if told, ok := errors.AsType[*net.OpError](err); ok && told.Op == "remote error" {
		return false // the broker is there, and does not take our certificate
	}
	_, isNetwork := errors.AsType[net.Error](err)
	return isNetwork || errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout)
}

// address returns where the broker is, without the password that a URL may hold.
func (c linkConfig) address() string {
	if c.provider != nil {
		return "the broker of this process"
	}
	addresses := strings.Split(c.url, ",")
	inLogin := false // what comes before may be the beginning of a login, with a comma in the password
	for i, address := range slices.Backward(addresses) {
		scheme, _, hasScheme := strings.Cut(address, "://")
		login := strings.LastIndexByte(address, '@')
		host := address[login+1:]
		if inLogin {
			host = withheld
		}
		if hasScheme && host != address {
			host = scheme + "://" + host
		}
		addresses[i] = host
		inLogin = !hasScheme && (inLogin || login >= 0)
	}
	return strings.Join(addresses, ", ")
}
