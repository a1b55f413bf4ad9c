package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// link is one broker connection with the connections of this process that share it. Its last user closes it.
type link struct {
	current atomic.Pointer[nats.Conn] // another one once the broker has closed it: see relink.go
	owned   bool                      // dialled by us, hence ours to close, and to make anew
	quiet   QuietBroker               // nil unless the broker is one
	local   *locals
	outage  *outage
	denials denials
	logger  zerolog.Logger

	redial   func() (*nats.Conn, error) // tries once
	relinked atomic.Int64
	unwatch  context.CancelFunc // ends watch; nil unless it was dialled
	watched  chan struct{}      // closed when watch has ended

	joining sync.Mutex // protects joined
	joined  []*Conn

	dialled chan struct{} // closed when what stands above, or err, is set
	err     error
	users   int // protected by links.mu
}

// links are the broker connections of this process. Sharing them is a process-wide fact, hence the only
// variable of the package: a service costs a few KiB on a shared connection, and 64 KiB and three goroutines
// on one of its own.
var links = struct { //nolint:gochecknoglobals // docs/decisions/0002
	mu   sync.Mutex
	open map[linkConfig]*link
}{open: map[linkConfig]*link{}}

// acquireLink returns the link that the configuration asks for. Who asks first dials, and the others wait for it.
func acquireLink(ctx context.Context, name string, config *connectConfig) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, config.linkConfig.connectTimeout)
	defer cancel()
	for {
		shared, first := joinLink(config)
		if first {
			shared.dial(ctx, name, config)
		} else if err := shared.await(ctx); err != nil {
			shared.release()
			return nil, noBroker(config.linkConfig, err)
		}
		if err := shared.awaitOpen(ctx); err != nil {
			shared.release()
			return nil, noBroker(config.linkConfig, err)
		}
		if !shared.failed() {
			return shared, nil
		}
		shared.release()
		if first {
			return nil, cmp.Or(shared.err, nats.ErrConnectionClosed)
		}
	}
}

// await waits for whoever dials.
func (l *link) await(ctx context.Context) error {
	select {
	case <-l.dialled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// joinLink returns the link for a configuration, and whether it was made just now.
func joinLink(config *connectConfig) (joined *link, first bool) {
	links.mu.Lock()
	defer links.mu.Unlock()
	key := config.linkConfig
	key.connectTimeout = 0 // how long one waits does not tell brokers apart
	if shared := links.open[key]; shared != nil && !config.ownLink {
		shared.users++
		return shared, false
	}
	made := &link{
		local: newLocals(), outage: newOutage(), logger: *config.logger,
		dialled: make(chan struct{}), watched: make(chan struct{}), users: 1,
	}
	if !config.ownLink {
		links.open[key] = made
	}
	return made, true
}

// release gives the link back; the last one closes the broker connection, if it is ours. One that could not be dialled,
// or that the broker has closed, is not found again.
func (l *link) release() {
	if l.giveBack() > 0 || l.unwatch == nil {
		return
	}
	l.unwatch()
	<-l.watched
	if l.owned {
		l.conn().Close()
	}
}

// giveBack returns how many users there still are.
func (l *link) giveBack() int {
	links.mu.Lock()
	defer links.mu.Unlock()
	l.users--
	if l.users > 0 && !l.failed() {
		return l.users
	}
	for key, open := range links.open {
		if open == l {
			delete(links.open, key)
		}
	}
	return l.users
}

// failed says whether the link was dialled and is of no use.
func (l *link) failed() bool {
	select {
	case <-l.dialled:
		return l.err != nil || !l.owned && l.conn().IsClosed()
	default:
		return false
	}
}

// dial sets what the link consists of, or err, and says so.
func (l *link) dial(ctx context.Context, name string, config *connectConfig) {
	defer close(l.dialled)
	l.quiet, _ = config.linkConfig.provider.(QuietBroker)
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
	options, err := natsOptions(name, config, l.report)
	if err != nil {
		return nil, err
	}
	l.owned = true
	l.redial = func() (*nats.Conn, error) { return nats.Connect(config.linkConfig.url, options...) }
	return dialUntil(ctx, config.linkConfig, options)
}

// usable says what is wrong with a connection that was handed over. One that is on its way to the broker is waited for.
func usable(ctx context.Context, given *nats.Conn) error {
	if given.Opts.NoEcho {
		return errors.New("the connection given with bus.WithNATS was made with nats.NoEcho, and its hosts would not hear each other: leave that option out")
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
			return fmt.Errorf("the connection given with bus.WithNATS is not connected (%s): %w", given.Status(), ctx.Err())
		}
	}
	return nil
}

// dialUntil tries until the broker answers, the time is up or trying is pointless: a service may be started
// before its broker.
func dialUntil(ctx context.Context, config linkConfig, options []nats.Option) (*nats.Conn, error) {
	for {
		connection, err := nats.Connect(config.url, options...)
		if err == nil {
			return connection, nil
		}
		if config.provider == nil && !mayPass(err) {
			return nil, fmt.Errorf("connect to %s: %w; see BUS_NATS_URL, BUS_NATS_CREDS and their neighbours", config.address(), err)
		}
		select {
		case <-ctx.Done():
			return nil, noBroker(config, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func noBroker(config linkConfig, err error) error {
	return fmt.Errorf("no broker at %s: %w; start one, or set BUS_NATS_URL", config.address(), err)
}

// mayPass says whether trying again can help: it does when nothing listens yet.
func mayPass(err error) bool {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false // a file of certificates or credentials
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
	for i, address := range addresses {
		scheme, _, hasScheme := strings.Cut(address, "://")
		host := address[strings.LastIndexByte(address, '@')+1:]
		if hasScheme && host != address {
			host = scheme + "://" + host
		}
		addresses[i] = host
	}
	return strings.Join(addresses, ", ")
}

// natsOptions returns the settings that were measured to suit calls: never give up reconnecting, try often,
// notice a dead peer in seconds, and keep nothing for later: a request in a reconnect buffer would run long
// after its caller gave up.
func natsOptions(name string, config *connectConfig, report nats.ErrHandler) ([]nats.Option, error) {
	logger := *config.logger
	options := []nats.Option{
		nats.Name(name),
		nats.Timeout(min(dialTimeout, config.linkConfig.connectTimeout)),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // or two refusals in a row would end it for good
		nats.CustomReconnectDelay(reconnectDelay),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(report),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { logDisconnect(logger, err) }),
		nats.ReconnectHandler(func(connection *nats.Conn) {
			logger.Info().Str("url", connection.ConnectedUrlRedacted()).Msg("broker is back")
		}),
		nats.LameDuckModeHandler(func(*nats.Conn) { logger.Info().Msg("broker is about to leave") }),
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

// reconnectDelay returns how long to wait when no broker could be reached, so many times in a row.
func reconnectDelay(tries int) time.Duration {
	average := laterAgain
	if tries <= soonTries {
		average = soonAgain
	}
	return average/2 + rand.N(average) //nolint:gosec // spreading is no secret
}

// report takes what the broker client tells of a connection of ours.
func (l *link) report(_ *nats.Conn, subscription *nats.Subscription, err error) {
	if denied, ok := denialOf(err); ok {
		l.deny(denied)
		return
	}
	if errors.Is(err, nats.ErrSlowConsumer) {
		for _, member := range l.members() {
			member.lookForOverflow()
		}
		return
	}
	event := l.logger.Error().Err(err)
	if subscription != nil {
		event = event.Str("subject", subscription.Subject)
	}
	event.Msg("broker")
}

func logDisconnect(logger zerolog.Logger, err error) {
	if err != nil { // nil: we closed it
		logger.Warn().Err(err).Msg("broker is out of reach")
	}
}

func (c linkConfig) credentialOptions() (options []nats.Option, err error) {
	if c.provider != nil { // what the environment says is about another broker
		return []nats.Option{nats.InProcessServer(c.provider)}, nil
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

// flush waits until the broker has processed everything sent so far, 5 s when ctx has no end.
func (l *link) flush(ctx context.Context) error { return flushed(ctx, l.conn()) }

func flushed(ctx context.Context, connection *nats.Conn) error {
	if !connection.IsConnected() {
		return ErrDisconnected
	}
	// Not nats.Conn.Flush: its timers come from a pool shared by the whole process.
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultConnectTimeout)
		defer cancel()
	}
	return connection.FlushWithContext(ctx)
}

// carries says whether a message of that many bytes can travel.
func (l *link) carries(size int) error {
	if limit := l.conn().MaxPayload(); limit > 0 && int64(size) > limit {
		return newError(http.StatusRequestEntityTooLarge, NotExecuted, nats.ErrMaxPayload,
			"a message of %d bytes exceeds the broker's limit of %d", size, limit)
	}
	return nil
}

// publish sends bytes now or not at all.
func (l *link) publish(subject, reply string, payload []byte) error {
	if err := l.carries(len(payload)); err != nil {
		return err
	}
	connection := l.conn()
	if status := connection.Status(); status != nats.CONNECTED && status != nats.DRAINING_SUBS {
		return newError(http.StatusServiceUnavailable, NotExecuted, ErrDisconnected, "the broker is out of reach")
	}
	var err error
	if reply == "" {
		err = connection.Publish(subject, payload)
	} else {
		err = connection.PublishRequest(subject, reply, payload)
	}
	if err != nil {
		return newError(http.StatusServiceUnavailable, NotExecuted, fmt.Errorf("%w: %w", ErrDisconnected, err), "the broker does not take the message: %s", err)
	}
	return nil
}
