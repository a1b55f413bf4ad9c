package bus

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
)

// Conn is one instance of a service, or a mere caller, on the bus: it has a hostname and an instance ID of its own.
// Make one with [Connect]. All its methods are safe for concurrent use.
type Conn struct {
	instance
	config *connectConfig
	logger zerolog.Logger
	tokens tokens

	callers *callers

	shared  *shared
	broker  *natsconn.Conn    // of shared
	session *natsconn.Session // our subscriptions
	client  *client.Client
	server  *server.Server

	plans      callPlans
	callees    *callees
	documents  documents
	others     otherInstances
	telemetry  telemetry
	registry   registry
	readiness  readiness
	extensions feature.Extensions
	life       lifetime
}

// instance is what a connection is on the bus.
type instance struct {
	host, id, plane string
	ownHost         string // of this very instance: "k3xq27abcd.calculator.example"
	opened          time.Time
}

// callPlans are what calls have in common. All but the chain is worked out when a call first needs it.
type callPlans struct {
	calling      CallFunc // the chain that a call passes through
	destinations *destinations
	untagged     sync.Map // an error or nil, by the reflect.Type of arguments, or of results
}

// otherInstances is what a connection knows of the other instances on the plane, and passes on.
type otherInstances struct {
	differing differing
	watchers  announcementWatchers
}

// Connect joins the bus as host, a hostname such as "calculator.example", with a new instance ID. Several
// connections may have one hostname: they are instances of one service.
//
// It reads the environment (BUS_NATS_URL, BUS_PLANE, …), tries to reach the broker for 5 s (see
// [WithConnectTimeout]) or until ctx ends, and returns when calls can be made. On an error nothing is left open.
func Connect(ctx context.Context, host string, options ...ConnectOption) (*Conn, error) {
	if err := validOwnHost(host); err != nil {
		return nil, fmt.Errorf("connect %q: %w", host, err)
	}
	config, err := newConnectConfig(options)
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", host, err)
	}
	id := subject.NewID()
	own, err := config.openVerifier(ctx, host, id)
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", host, err)
	}
	callers, err := config.openCallers(ctx, host, id)
	if err != nil {
		own.Close()
		return nil, fmt.Errorf("connect %s: %w", host, err)
	}
	shared, err := acquireShared(ctx, id+"."+host, config)
	if err != nil {
		own.Close()
		callers.close()
		return nil, fmt.Errorf("connect %s: %w", host, err)
	}
	conn := newConn(host, id, shared, config)
	conn.callers = callers
	conn.tokens.own, conn.tokens.verifier = own, cmp.Or(config.verifier, own)
	conn.plans.calling, err = conn.clientChain()
	if err == nil {
		err = conn.open(ctx)
	}
	if err == nil && config.recorder != nil {
		err = config.recorder.Open(ctx, conn)
	}
	if err != nil {
		conn.abandon()
		return nil, fmt.Errorf("connect %s: %w", host, err)
	}
	conn.openReadiness(ctx)
	return conn, nil
}

func validOwnHost(host string) error {
	if host == subject.HostAll {
		return fmt.Errorf("the host %q is reserved, as every service answers on it: choose another name", host)
	}
	err := subject.CheckHost(host)
	if meant := plainHost(host); err != nil && meant != subject.HostAll && subject.CheckHost(meant) == nil {
		return fmt.Errorf("%w; did you mean %q?", err, meant)
	}
	return err
}

// plainHost returns the host of what looks like an address of it, "calculator.example" of
// "https://Calculator.example:443/".
func plainHost(address string) string {
	if _, behind, found := strings.Cut(address, "://"); found {
		address = behind
	}
	host, _, _ := strings.Cut(address, "/")
	host, _, _ = strings.Cut(host, ":")
	return subject.LowerHost(host)
}

func newConn(host, id string, shared *shared, config *connectConfig) *Conn {
	base, stop := context.WithCancel(context.Background())
	conn := &Conn{
		instance:  instance{host: host, id: id, ownHost: id + "." + host, plane: config.plane, opened: time.Now()},
		config:    config,
		logger:    config.loggerOf(host, id),
		shared:    shared,
		broker:    shared.broker,
		callees:   newCallees(),
		life:      lifetime{base: base, stop: stop, begun: make(chan struct{})},
		telemetry: telemetry{tap: newTap(), throttle: logqueue.Throttle{AtOnce: 10, Pause: 10 * time.Second}},
	}
	conn.plans.destinations = newDestinations(conn)
	memory := stream.NewMemory(stream.DefaultMemory(config.messageLimit, debug.SetMemoryLimit(-1)))
	conn.server = server.New(server.Config{
		Owner: conn, Host: host, ID: id, Plane: config.plane, MaxMessage: config.messageLimit, Memory: memory,
		AllowResponses: config.allowResponses,
		Broker:         shared.broker, Inflight: shared.inflight, Base: base,
		Handlers: worker.NewLimiter(config.handlerLimit), Controls: worker.NewLimiter(0), Logger: conn.logger,
		Service: service{conn},
	})
	conn.client = client.New(client.Config{
		Owner: conn, Host: host, ID: id, Plane: config.plane, AckWait: config.ackWait, MaxMessage: config.messageLimit,
		Memory: memory, AllowResponses: config.allowResponses,
		Broker: shared.broker, Membership: shared.membership, Base: base, Controls: conn.server.Controls, Logger: conn.logger,
		Deliver: conn.deliver, NotServed: notServedResponse, Encode: encodeError, Opened: conn.server.Open,
		OpenLocal: conn.openLocal, DeliverPart: conn.deliverPart, Dropped: conn.drop,
	})
	conn.session = shared.broker.Open(connMember{conn}, config.plane, conn.logger)
	return conn
}

// open subscribes to everything that an instance listens to before it serves anything, and greets the others.
func (c *Conn) open(ctx context.Context) error {
	endpoints, err := controlEndpoints()
	if err != nil {
		return err
	}
	receiveAll, err := c.server.ReceiverOfAll()
	if err != nil {
		return err
	}
	responses := subject.Response(c.plane, c.host, anyLabel)
	err = c.install(ctx, c.server.Router, endpoints, append([]*natsconn.Subscription{
		// The first is the one that may be denied: of a connection of the application only the last denial is known.
		{Subject: everyonesSubject(c.plane), Receive: receiveAll, For: forEveryone},
		{Subject: c.client.ResponseSubject(), Receive: c.client.Receive, Answers: true, Pattern: responses,
			For: "acks and responses to its calls"},
		{
			Subject: c.client.ResponseSubject() + "." + anyLabel, Receive: c.client.ReceiveBelow, Answers: true,
			Pattern: responses + "." + anyLabel, For: "notices that no instance subscribes, answers by allow_responses",
		},
		{
			Subject: subject.Instance(c.plane, c.host, c.id), Receive: c.server.ReceiverOfInstance(),
			Pattern: subject.Instance(c.plane, c.host, anyLabel), For: "calls to one instance",
		},
	}, c.subscriptionsOf(endpoints)...), nil)
	if err != nil {
		return err
	}
	c.announce(ctx, server.HelloPath, nil)
	if c.config.shortCircuit {
		c.shared.local.add(c)
	}
	return nil
}

// Host returns the hostname.
func (c *Conn) Host() string { return c.host }

// ID returns the instance ID.
func (c *Conn) ID() string { return c.id }

// Plane returns the communication plane.
func (c *Conn) Plane() string { return c.plane }

// Version returns what [WithVersion] set.
func (c *Conn) Version() string { return c.config.version }

// Logger returns the connection's logger, which adds the fields host and id.
func (c *Conn) Logger() zerolog.Logger { return c.logger }

// NATS returns the underlying broker connection, for what Busline does not do: JetStream, key-value buckets. It may be
// shared with other connections of the process and must not be closed or drained. If the broker closes it for good it
// is replaced, unless it is your own: call NATS again instead of keeping the result.
func (c *Conn) NATS() *nats.Conn { return c.broker.NATS() }

// JetStreamPrefix returns the prefix of the subjects of JetStream, for jetstream.NewWithAPIPrefix: "$JS.API", or
// "$JS.hub.API" in the domain hub (see [WithJetStreamDomain]).
func (c *Conn) JetStreamPrefix() string {
	if c.config.jetStreamDomain == "" {
		return "$JS.API"
	}
	return "$JS." + c.config.jetStreamDomain + ".API"
}

// Connected reports whether the broker can be reached at this moment.
func (c *Conn) Connected() bool { return c.broker.NATS().IsConnected() }

// drop counts and logs a message that is not answered.
func (c *Conn) drop(subject string, why error) {
	c.telemetry.dropped.Add(1)
	c.log(c.limitedLine(zerolog.WarnLevel, why.Error()).Str("subject", subject).Err(why), "message dropped")
}

// Restrictions returns what the broker's permissions turn off, one sentence each: being found by discovery, hearing
// which instances come and go, telling others so, being shown by nats micro. Calls and endpoints work without these,
// and the connection is healthy. Each is logged once. Nil: nothing is off, as far as is known. It is safe for
// concurrent use.
func (c *Conn) Restrictions() []string {
	off := c.session.TurnedOff()
	if c.isListed() && c.shared.services.IsDenied() {
		off = append(off, "nats micro does not show this instance")
	}
	return off
}

// connMember is a connection as its session calls it.
type connMember struct{ *Conn }

// Expects expects that the broker denies the host "all": a user may have permissions for its own domain alone.
func (m connMember) Expects(denied natsconn.Violation) (off string, expected bool) {
	switch everyone, in := everyonesSubject(m.plane), subject.Covers(everyonesSubject(m.plane), denied.Subject); {
	case !denied.Publish && denied.Subject == everyone:
		return "discovery does not find this instance, and it does not hear which instances come and go", true
	case denied.Publish && in && (strings.HasSuffix(denied.Subject, ".POST.hello") ||
		strings.HasSuffix(denied.Subject, ".POST.bye")):
		return "other instances do not hear that this one comes and goes", true
	default:
		return "", false
	}
}

// PublishDenied ends the calls to a subject.
func (m connMember) PublishDenied(subject string) { m.client.PublishDenied(subject) }

// Reconnected lets extensions catch up, and reports that announcements were missed.
func (m connMember) Reconnected() {
	for _, each := range m.extensions.All() {
		each.Reconnected()
	}
	m.others.watchers.tell(Announcement{Missed: true})
}

// Dropped counts and logs a message that cannot be received.
func (m connMember) Dropped(subject string, err error) { m.drop(subject, err) }

// log writes a line soon, on another goroutine.
func (c *Conn) log(event *zerolog.Event, message string) { c.shared.lines.Add(event, message) }

// limitedLine begins a line that others can cause as often as they like: nil, which takes all fields, if many of that
// reason were written a moment ago.
func (c *Conn) limitedLine(level zerolog.Level, reason string) *zerolog.Event {
	reason, _, _ = strings.Cut(reason, `"`) // what is quoted is often the text of a peer
	leftOut, ok := c.telemetry.throttle.Admit(reason)
	if !ok {
		return nil
	}
	line := c.logger.WithLevel(level)
	if leftOut > 0 {
		line.Int("leftOut", leftOut)
	}
	return line
}

// lifetime is how long a connection lives.
type lifetime struct {
	base context.Context    //nolint:containedctx // of every handler; ends when Close gives up on them
	stop context.CancelFunc // ends base

	begun chan struct{} // closed when Close begins

	mu      sync.Mutex    // protects closing
	closing chan struct{} // of the first Close: closed when it is done
}

func (l *lifetime) isClosing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing != nil
}

func (c *Conn) isClosing() bool { return c.life.isClosing() }

// abandon gives up everything at once.
func (c *Conn) abandon() {
	c.life.stop()
	c.others.differing.end()
	c.telemetry.tap.close()
	c.closeVerifier()
	c.callers.close()
	c.server.StopWaiting()
	c.shared.local.forget(c)
	c.shared.services.Leave(microService{c})
	c.session.Leave()
	c.shared.release()
}

// isListed reports whether a connection answers the protocol, where it is allowed to.
func (c *Conn) isListed() bool { return !c.config.unlisted && len(c.registry.all()) > 0 }

// recorder returns the recorder of a call, nil for none.
func (c *Conn) recorder(x *Exchange) feature.Recorder {
	if x.Port == subject.ControlPort {
		return nil
	}
	return c.config.recorder
}
