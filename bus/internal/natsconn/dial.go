package natsconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/batch"
	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/internal/testbroker"
	"github.com/busline/busline/bus/internal/worker"
)

// Dial connects to the broker that config names, and returns when messages can be sent. It tries until config.Timeout
// has passed or ctx ends. name is what the broker shows. The Conn logs to logger, through lines. Call [Conn.Close] in
// the end.
func Dial(ctx context.Context, name string, config Config, logger zerolog.Logger,
	lines *logqueue.Queue) (*Conn, error) {
	c := &Conn{
		Lines: lines, Workers: new(worker.Pool), logger: logger, state: newConnState(),
		publishSem: make(chan struct{}, 1), leaving: make(chan *nats.Conn, 1), watched: make(chan struct{}),
		lost: make(chan struct{}), spread: rand.N[time.Duration],
	}
	c.dispatcher = newDispatcher(c)
	c.quiet, _ = config.Provider.(testbroker.Quiet)
	if seeded, ok := config.Provider.(testbroker.Seeded); ok {
		c.spread = seeded.Spread
	}
	nc, err := c.dial(ctx, name, config)
	if err != nil {
		return nil, err
	}
	c.current.Store(nc)
	watching, cancel := context.WithCancel(context.Background()) // Close ends it
	c.unwatch = cancel
	go c.watch(watching)
	return c, nil
}

// dial returns the connection of the application, or makes one of our own.
func (c *Conn) dial(ctx context.Context, name string, config Config) (*nats.Conn, error) {
	if config.NATS != nil {
		return config.NATS, c.awaitConnected(ctx, config.NATS)
	}
	return c.dialOwn(ctx, name, config)
}

// dialOwn makes a connection of our own, and notes how to make another one.
func (c *Conn) dialOwn(ctx context.Context, name string, config Config) (*nats.Conn, error) {
	options, err := c.natsOptions(name, config)
	if err != nil {
		return nil, err
	}
	c.owned = true
	timeout := config.attemptTimeout()
	c.redial = func(ctx context.Context, leaving *nats.Conn) (*nats.Conn, error) {
		all := options
		if leaving != nil {
			all = append(slices.Clone(options), awayFrom(leaving))
		}
		return config.connect(ctx, timeout, all, &c.writer)
	}
	return c.dialUntil(ctx, config)
}

// awaitConnected waits until a connection of the application is connected, and returns an error if it cannot be used.
func (c *Conn) awaitConnected(ctx context.Context, nc *nats.Conn) error {
	if nc.Opts.NoEcho {
		return errors.New("the connection given with bus.WithNATS was made with nats.NoEcho, so the services on it would " +
			"not receive each other's messages: leave out nats.NoEcho")
	}
	changed := nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer nc.RemoveStatusListener(changed)
	for !nc.IsConnected() {
		if nc.IsClosed() {
			return errors.New("the connection given with bus.WithNATS is closed")
		}
		c.log(c.logger.Warn().Stringer("status", nc.Status()),
			"the connection given with bus.WithNATS is not connected yet; waiting for it")
		select {
		case <-changed:
		case <-ctx.Done():
			return notConnected(nc, ctx.Err())
		}
	}
	return nil
}

// notConnected is the error for such a connection that the broker is not reached with.
func notConnected(nc *nats.Conn, err error) error {
	return fmt.Errorf("the connection given with bus.WithNATS is not connected (%s): %w", nc.Status(), err)
}

// dialUntil tries until the broker answers, the time is up or trying is pointless: a service may be started before its
// broker. Without a ConnectTimeout it tries once. It logs what it waits for, as retryFailed does.
func (c *Conn) dialUntil(ctx context.Context, config Config) (*nats.Conn, error) {
	var before error // of an attempt that was not cut short
	for {
		connection, err := c.redial(ctx, nil)
		if err == nil {
			c.retries.Forget()
			return connection, nil
		}
		if ctx.Err() != nil {
			return nil, config.Unreachable(cmp.Or(before, err))
		}
		before = err
		if config.Provider == nil && !isTransient(err) {
			return nil, fmt.Errorf("connect to %s: %w; check BUS_NATS_URL, BUS_NATS_CREDS and the other BUS_NATS_ variables",
				config.address(), err)
		}
		if scheme := config.foreignScheme(); config.Provider == nil && scheme != "" {
			return nil, fmt.Errorf("connect to %s: %w; a broker's URL has the scheme nats, tls, ws or wss, not %s: "+
				"change BUS_NATS_URL or bus.WithURL", config.address(), err, scheme)
		}
		if config.ConnectTimeout == 0 {
			return nil, config.Unreachable(err)
		}
		if _, isNews := c.retries.Admit(err.Error()); isNews {
			c.log(c.logger.Warn().Err(config.Unreachable(err)), "waiting for the broker")
		}
		select {
		case <-ctx.Done():
			return nil, config.Unreachable(err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// isTransient reports whether trying again can help, as it does when nothing listens yet.
func isTransient(err error) bool {
	if _, isFile := errors.AsType[*fs.PathError](err); isFile {
		return false // of certificates or credentials, which cannot be read
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "remote error" {
		return false // the broker is there, and does not take our certificate
	}
	_, isNetwork := errors.AsType[net.Error](err)
	return isNetwork || errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout)
}

// ctxDialer is the dialer of one nats.Connect, which takes no context. Until nats.Connect returns, the end of the
// context closes what was dialled. Afterwards nats.go reconnects with it.
type ctxDialer struct {
	provider    nats.InProcessConnProvider // nil: it is dialled
	application nats.CustomDialer          // nil: none
	dial        dialContext
	writer      *atomic.Pointer[batch.Conn] // set to the latest connection that was dialled, if that is one

	mu     sync.Mutex      // protects all below
	ctx    context.Context // Background once nats.Connect has returned
	unhook func() bool     // stops the end of ctx from closing the latest connection
}

// connect is nats.Connect for as long as ctx allows. If that ends it, the error is that of ctx. It sets writer to what
// the connection writes to.
func (c Config) connect(ctx context.Context, timeout time.Duration, options []nats.Option,
	writer *atomic.Pointer[batch.Conn]) (*nats.Conn, error) {
	d := &ctxDialer{provider: c.Provider, writer: writer, ctx: ctx, unhook: func() bool { return true }}
	nc, err := nats.Connect(c.URL, slices.Concat(options, d.options(timeout, c.Unbatched))...)
	d.connected()
	if ctx.Err() == nil {
		return nc, err
	}
	if err == nil {
		nc.Close()
	}
	return nil, ctx.Err()
}

// options come last: they wrap the dialer of the application.
func (d *ctxDialer) options(timeout time.Duration, unbatched bool) []nats.Option {
	return []nats.Option{nats.Timeout(timeout), func(o *nats.Options) error {
		d.dial = d.dialBy(o, timeout, unbatched)
		o.CustomDialer = d
		if d.provider != nil {
			o.InProcessServer = d
		}
		return nil
	}}
}

// dialContext is the method DialContext of a dialer.
type dialContext func(ctx context.Context, network, address string) (net.Conn, error)

// dialBy returns what dials: the dialer that the application has set, or one of our own.
func (d *ctxDialer) dialBy(o *nats.Options, timeout time.Duration, unbatched bool) dialContext {
	var own dialContext
	switch {
	case o.CustomDialer != nil:
		d.application = o.CustomDialer
		own = func(_ context.Context, network, address string) (net.Conn, error) {
			return d.application.Dial(network, address)
		}
		if dialer, ok := d.application.(interface {
			DialContext(ctx context.Context, network, address string) (net.Conn, error)
		}); ok {
			own = dialer.DialContext
		}
	case o.Dialer != nil || o.AllowMultipathTCP != nil:
		dialer := net.Dialer{Timeout: timeout}
		if o.Dialer != nil {
			dialer = *o.Dialer
		}
		if o.AllowMultipathTCP != nil {
			dialer.SetMultipathTCP(*o.AllowMultipathTCP)
		}
		own = dialer.DialContext
	case unbatched:
		return (&net.Dialer{Timeout: timeout}).DialContext
	default:
		o.SkipHostLookup = true
		return (&batch.Dialer{Timeout: timeout}).DialContext
	}
	if unbatched {
		return own
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := own(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return batch.New(conn), nil
	}
}

// SkipTLSHandshake reports whether the dialer of the application has made the TLS handshake.
func (d *ctxDialer) SkipTLSHandshake() bool {
	dialer, ok := d.application.(interface{ SkipTLSHandshake() bool })
	return ok && dialer.SkipTLSHandshake()
}

// Dial is for [nats.SetCustomDialer].
func (d *ctxDialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	ctx := d.ctx
	d.mu.Unlock()
	return d.hook(d.dial(ctx, network, address))
}

// InProcessConn is for [nats.InProcessServer]. A pipe has no buffer as sockets have, so it gets one, also without
// batching.
func (d *ctxDialer) InProcessConn() (net.Conn, error) {
	conn, err := d.provider.InProcessConn()
	if err != nil {
		return nil, err
	}
	return d.hook(batch.NewPipe(conn), nil)
}

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

// connected notes that nats.Connect has returned.
func (d *ctxDialer) connected() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unhook()
	d.ctx = context.Background()
}

// natsOptions returns the settings that were measured to suit calls: never give up reconnecting, try often,
// notice a dead peer in seconds, and keep nothing for later: a request in a reconnect buffer would run long
// after its caller gave up. The options of the application come between what it may change and what it may not.
func (c *Conn) natsOptions(name string, config Config) ([]nats.Option, error) {
	credentials, err := config.credentialOptions()
	options := append([]nats.Option{nats.Name(name)}, credentials...)
	return append(options,
		config.Options.apply,
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // or two refusals in a row would end it for good
		nats.CustomReconnectDelay(c.reconnectDelay),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(5*time.Second),
		nats.MaxPingsOutstanding(2),
		c.addCallbacks,
	), err
}

// addCallbacks sets our callbacks, which call those of the application afterwards.
func (c *Conn) addCallbacks(o *nats.Options) error {
	onError, onDisconnect, onFailure := o.AsyncErrorCB, o.DisconnectedErrCB, o.ReconnectErrCB
	onReconnect, onLameDuck := o.ReconnectedCB, o.LameDuckModeHandler
	if older := o.DisconnectedCB; onDisconnect == nil && older != nil { // nats.go calls one of them
		onDisconnect = func(connection *nats.Conn, _ error) { older(connection) }
	}
	o.AsyncErrorCB = func(connection *nats.Conn, subscription *nats.Subscription, err error) {
		c.HandleError(connection, subscription, err)
		if onError != nil {
			onError(connection, subscription, err)
		}
	}
	o.DisconnectedErrCB = func(connection *nats.Conn, err error) {
		c.logDisconnect(err)
		if onDisconnect != nil {
			onDisconnect(connection, err)
		}
	}
	o.ReconnectErrCB = func(connection *nats.Conn, err error) {
		c.retryFailed(err)
		if onFailure != nil {
			onFailure(connection, err)
		}
	}
	o.ReconnectedCB = func(connection *nats.Conn) {
		c.retries.Forget()
		c.log(c.logger.Info().Str("url", connection.ConnectedUrlRedacted()), "broker is back")
		if onReconnect != nil {
			onReconnect(connection)
		}
	}
	o.LameDuckModeHandler = func(connection *nats.Conn) {
		c.log(c.logger.Info(), "broker is about to shut down")
		select {
		case c.leaving <- connection:
		default: // it is known
		}
		if onLameDuck != nil {
			onLameDuck(connection)
		}
	}
	return nil
}

// Pauses between attempts to reach the broker again. They are random, so that not all clients come at once.
const (
	soonAgain  = 100 * time.Millisecond // on average, while a restart may be all that it is
	laterAgain = 400 * time.Millisecond // on average, from then on
	soonTries  = 50                     // attempts with the shorter pause
)

// reconnectDelay returns how long to wait when no broker could be reached so many times in a row. If a broker ended the
// connection before it was ready, as with a wrong certificate, LastError has the reason only now.
func (c *Conn) reconnectDelay(tries int) time.Duration {
	if connection := c.NATS(); connection != nil {
		c.retryFailed(connection.LastError())
	}
	average := laterAgain
	if tries <= soonTries {
		average = soonAgain
	}
	return average/2 + c.spread(average)
}

// HandleError takes the asynchronous errors of a connection of our own, from the callback of nats.go.
func (c *Conn) HandleError(connection *nats.Conn, subscription *nats.Subscription, err error) {
	if isRefusal(err) {
		c.recordAsyncErr(err)
	}
	if denied, ok := ParseViolation(err); ok {
		c.onViolation(denied)
		return
	}
	if errors.Is(err, nats.ErrMaxSubscriptionsExceeded) { // which is reported for each
		if c.violations.add(Violation{Subject: everySubject}) {
			c.log(c.logger.Error(), c.tooManySubscriptions(err).Error())
		}
		return
	}
	if errors.Is(err, nats.ErrSlowConsumer) {
		for _, session := range c.allSessions() {
			session.countDropped()
		}
		return
	}
	if isRefusedLogin(err) || !connection.IsConnected() { // of an attempt, as when our certificate has expired
		c.retryFailed(err)
		return
	}
	event := c.logger.Error().Err(err)
	if subscription != nil {
		event = event.Str("subject", subscription.Subject)
	}
	c.log(event, "error of the broker connection")
}

func (c *Conn) logDisconnect(err error) {
	if err != nil { // nil: we closed it
		c.log(c.logger.Warn().Err(err), "broker is out of reach")
	}
}
