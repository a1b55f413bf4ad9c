package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/batch"
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

// noBroker says why the broker is not waited for any longer. A cancelled Connect does not know whether it is there.
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

// mayPass reports whether trying again can help: it does when nothing listens yet.
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

// ctxDialer is one nats.Connect, which takes no context. While it goes on, the end of its context closes what was dialled. It
// remains the dialer of the connection that was made, for the times when that is made again by itself.
type ctxDialer struct {
	provider nats.InProcessConnProvider // nil: it is dialled
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	writer   *atomic.Pointer[batch.Conn] // is set to the latest connection that was dialled, if it is one

	mu     sync.Mutex      // protects all below
	ctx    context.Context // Background once nats.Connect has returned
	unhook func() bool     // has the end of ctx leave the latest connection alone
}

// connect is nats.Connect for as long as ctx allows. If that ends it, the error is that of ctx. It sets writer to what the connection
// writes to.
func (c linkConfig) connect(ctx context.Context, timeout time.Duration, options []nats.Option, writer *atomic.Pointer[batch.Conn]) (*nats.Conn, error) {
	d := &ctxDialer{provider: c.provider, writer: writer, ctx: ctx, unhook: func() bool { return true }}
	made, err := nats.Connect(c.url, slices.Concat(options, d.options(timeout, c.unbatched))...)
	d.over()
	if ctx.Err() == nil {
		return made, err
	}
	if err == nil {
		made.Close()
	}
	return nil, ctx.Err()
}

func (d *ctxDialer) options(timeout time.Duration, unbatched bool) []nats.Option {
	options := []nats.Option{nats.Timeout(timeout), nats.SetCustomDialer(d)}
	if d.provider != nil {
		options = append(options, nats.InProcessServer(d))
	}
	if unbatched {
		d.dial = (&net.Dialer{Timeout: timeout}).DialContext
		return options
	}
	d.dial = (&batch.Dialer{Timeout: timeout}).DialContext
	return append(options, nats.SkipHostLookup())
}

// Dial is for [nats.SetCustomDialer].
func (d *ctxDialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	ctx := d.ctx
	d.mu.Unlock()
	return d.hook(d.dial(ctx, network, address))
}

// InProcessConn is for [nats.InProcessServer].
func (d *ctxDialer) InProcessConn() (net.Conn, error) { return d.hook(d.provider.InProcessConn()) }

func (d *ctxDialer) hook(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if writer, ok := conn.(*batch.Conn); ok {
		d.writer.Store(writer)
	}
	d.unhook()
	d.unhook = context.AfterFunc(d.ctx, func() { _ = conn.Close() })
	return conn, nil
}

// over says that nats.Connect has returned.
func (d *ctxDialer) over() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unhook()
	d.ctx = context.Background()
}

// natsOptions returns the settings that were measured to suit calls: never give up reconnecting, try often,
// notice a dead peer in seconds, and keep nothing for later: a request in a reconnect buffer would run long
// after its caller gave up.
func (l *link) natsOptions(name string, config *connectConfig) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // or two refusals in a row would end it for good
		nats.CustomReconnectDelay(l.reconnectDelay),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(l.report),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { l.logDisconnect(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { l.retryFailed(err) }),
		nats.ReconnectHandler(func(connection *nats.Conn) {
			l.retries.Forget()
			l.log(l.logger.Info().Str("url", connection.ConnectedUrlRedacted()), "broker is back")
		}),
		nats.LameDuckModeHandler(func(*nats.Conn) { l.log(l.logger.Info(), "broker is about to shut down") }),
	}
	credentials, err := config.linkConfig.credentialOptions()
	return append(options, credentials...), err
}

// Pauses between attempts to reach the broker again, all of which is chance, so that not all clients come at once.
const (
	soonAgain  = 100 * time.Millisecond // on average, while a restart may be all that it is
	laterAgain = 400 * time.Millisecond // on average, from then on
	soonTries  = 50
)

// reconnectDelay returns how long to wait when no broker could be reached, so many times in a row. Of one that was reached, but
// ended the connection before it was ready, as when a certificate is wrong, the broker client tells the reason only here.
func (l *link) reconnectDelay(tries int) time.Duration {
	if connection := l.conn(); connection != nil {
		l.retryFailed(connection.LastError())
	}
	average := laterAgain
	if tries <= soonTries {
		average = soonAgain
	}
	return average/2 + rand.N(average) //nolint:gosec // spreading is no secret
}

// report takes what the broker client tells of a connection of ours.
func (l *link) report(connection *nats.Conn, subscription *nats.Subscription, err error) {
	if isRefusal(err) {
		l.recordAsyncErr(err)
	}
	if denied, ok := permissionViolationOf(err); ok {
		l.onPermissionViolation(denied)
		return
	}
	if errors.Is(err, nats.ErrMaxSubscriptionsExceeded) { // which is told of each
		if l.denials.add(permissionViolation{subject: everySubject}) {
			l.log(l.logger.Error(), l.tooManySubscriptions(err).Error())
		}
		return
	}
	if errors.Is(err, nats.ErrSlowConsumer) {
		for _, member := range l.members() {
			member.lookForOverflow()
		}
		return
	}
	if isRefusedLogin(err) || !connection.IsConnected() { // of an attempt, as when our certificate has expired
		l.retryFailed(err)
		return
	}
	event := l.logger.Error().Err(err)
	if subscription != nil {
		event = event.Str("subject", subscription.Subject)
	}
	l.log(event, "error of the broker connection")
}

func (l *link) logDisconnect(err error) {
	if err != nil { // nil: we closed it
		l.log(l.logger.Warn().Err(err), "broker is out of reach")
	}
}

func (c linkConfig) credentialOptions() (options []nats.Option, err error) {
	if c.provider != nil { // what the environment says is about another broker
		return nil, nil
	}
	if err := c.checkFiles(); err != nil {
		return nil, err
	}
	if c.credentials != "" {
		options = append(options, nats.UserCredentials(c.credentials))
	}
	if c.nkeySeed != "" {
		option, err := nats.NkeyOptionFromSeed(c.nkeySeed)
		if err != nil {
			return nil, fmt.Errorf("BUS_NATS_NKEY: %w", err)
		}
		options = append(options, option)
	}
	if c.user != "" {
		options = append(options, nats.UserInfo(c.user, c.password))
	}
	if c.token != "" {
		options = append(options, nats.Token(c.token))
	}
	if c.ca != "" {
		options = append(options, nats.RootCAs(c.ca))
	}
	if c.cert != "" {
		options = append(options, nats.ClientCert(c.cert, c.key))
	}
	return options, nil
}

// checkFiles names the variable of a file that cannot be read.
func (c linkConfig) checkFiles() error {
	for _, each := range []struct{ name, file string }{
		{"BUS_NATS_CREDS", c.credentials}, {"BUS_NATS_CA", c.ca}, {"BUS_NATS_CERT", c.cert}, {"BUS_NATS_KEY", c.key},
	} {
		if each.file == "" {
			continue
		}
		file, err := os.Open(each.file)
		if err != nil {
			return fmt.Errorf("%s: %w", each.name, err)
		}
		_ = file.Close() // nothing was written
	}
	return nil
}
