package bus

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// pullConsumer fetches the stored events of one kind, which is one path of one source, for an instance. It asks for as many at
// a time as can be handled at once, and for no more before these have come, so that few wait here while another instance
// could handle them.
//
//	ask ──▶ JetStream ──▶ inbox ──▶ receive ──▶ handler ──▶ acked, put off, or parked (eventdelivery.go)
//
// The inbox is a subscription like any other, so Close drains it, and the events that have come are handled.
type pullConsumer struct {
	conn      *Conn
	source    string
	store     *eventStream // of all kinds of the source
	event     string       // the token that stands for its path, "on-ordered"
	subject   string       // of its address, which its text has to agree with
	consumer  string
	inbox     string
	config    *durable
	served    server.Match    // the endpoint that handles it
	address   subject.Address // of the endpoint
	unhandled atomic.Int64    // events that were parked

	mu        sync.Mutex    // protects all below
	asked     int           // events that may still come
	atMost    int           // of these at a time; 0: no limit
	atLongest time.Duration // that a request may wait for them; 0: no limit
	inFlight  int
	held      []heldEvent // of these, those that wait for room among the handlers, or for their turn
	again     *time.Timer // asks again when a request must have been answered
	room      *time.Timer // looks again whether there is room among the handlers
	missing   bool        // the consumer has to be created again, or to be looked at
	warned    bool        // a warning was logged since the last event
}

// subscribeStored creates the stream, if there is none, and a consumer of this service for each event, and starts to ask for
// events. An instance that does not know an event, because it is of an older version, so takes nothing from those that do.
func subscribeStored(ctx context.Context, c *Conn, source string, endpoints []*endpoint, config *durable) error {
	store := &eventStream{conn: c, source: source}
	kinds := make([]*pullConsumer, 0, len(endpoints))
	for _, e := range endpoints {
		kinds = append(kinds, newStoredEvents(c, store, e, config))
	}
	inboxes := make([]*natsconn.Subscription, 0, len(kinds))
	for _, s := range kinds {
		inboxes = append(inboxes, s.inboxSubscription())
	}
	err := c.install(ctx, c.events.of(source), endpoints, inboxes, func() error { // only what is allowed to come is stored from then on
		if err := ensureAll(ctx, kinds); err != nil {
			return store.failed(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range kinds {
		context.AfterFunc(c.base, s.rest)
		c.events.read(s)
		s.fetch()
	}
	return nil
}

func newStoredEvents(c *Conn, store *eventStream, e *endpoint, config *durable) *pullConsumer {
	source, event, route := store.source, server.Tokens(e.mapped.Path())[0], &e.mapped.Routes[0]
	e.run = runStored(e.run)
	e.route()
	s := &pullConsumer{
		conn: c, source: source, store: store, event: event, consumer: consumerName(c.host, event), config: config,
		subject: e.subject(c.plane, source, *route),
		inbox:   c.client.ResponseSubject() + "." + storedInbox + "." + hostToken(source) + "." + event,
		served:  server.Match{Found: server.Found{Endpoint: e.routed, Route: route}},
		address: subject.Address{Port: e.Port, Host: source, Method: route.Method, Path: e.Path},
	}
	s.again, s.room = time.AfterFunc(time.Hour, s.askLater), time.AfterFunc(time.Hour, s.lookForRoom)
	s.rest()
	return s
}

// rest stops the timers.
func (s *pullConsumer) rest() {
	s.again.Stop()
	s.room.Stop()
}

// inboxSubscription brings the events that were asked for.
func (s *pullConsumer) inboxSubscription() *natsconn.Subscription {
	below := "." + storedInbox + "." + hostToken(s.source) + "." + s.event
	return &natsconn.Subscription{
		Subject: s.inbox, Receive: s.receive, Pattern: subject.Response(s.conn.plane, s.conn.host, anyLabel) + below, For: "stored events",
	}
}

// ensureAll makes the streams of a source, and at the same time the consumers of all kinds of events, of which there may be many
// and the broker far away.
func ensureAll(ctx context.Context, kinds []*pullConsumer) error {
	stream, err := kinds[0].ensureStreams(ctx)
	if err != nil {
		return err
	}
	ended := make(chan error, len(kinds))
	for _, s := range kinds {
		go func() { ended <- s.ensureConsumer(ctx, stream) }()
	}
	for range kinds {
		err = cmp.Or(err, <-ended)
	}
	return err
}

// storedInbox is in the subject on which stored events come to an instance:
// "bus.r.example.mailer.<id>.e.orders_example.on-ordered".
const storedInbox = "e"

// receive takes an event, on the goroutine that reads from the broker.
func (s *pullConsumer) receive(message *nats.Msg, reader *wire.Reader) worker.Job {
	if status := message.Header.Get("Status"); status != "" && message.Reply == "" { // an event is to be acked
		if status != "100" { // an idle heartbeat, which no caller has asked for
			s.handleStatus(status, message.Header.Get("Description"))
		}
		return nil
	}
	turn := s.arrived()
	d := newDelivery(s, message)
	in := s.conn.newServerCall()
	in.Address, in.Match = s.address, s.served
	in.Size, in.Replier, in.ReplyTo, in.IsEvent = len(message.Data), d, message.Reply, true
	d.err = reader.ParseRequest(message.Data, in.Request)
	if d.err == nil {
		d.err = s.objection(in.Request)
	}
	in.Request.TimeBudget = wire.DefaultTimeBudget
	if longest := s.served.Endpoint.TimeBudget; longest > 0 {
		in.Request.TimeBudget = longest
	}
	d.begin()
	started := s.start(in, d, turn)
	s.fetch()
	if !started {
		return nil
	}
	return in
}

// objection says why an event must not be handled. JetStream stores whatever is published to it, and not only Busline fires.
func (s *pullConsumer) objection(event *wire.Request) error {
	unknown := s.conn.server.CheckSender(event)
	_, contradiction := server.AddressOf(event, s.subject)
	switch {
	case unknown != nil:
		return unknown
	case event.Fragment.IsPart():
		return newError(http.StatusBadRequest, ExecutedNo, nil, "header Bus-Fragment: a stored event has one part")
	case event.CallDepth > wire.MaxCallDepth:
		return server.ErrTooDeep()
	default:
		return contradiction
	}
}

// arrived counts an event, and reports whether it is its turn. It is not if others wait here, or are in flight in its place: JetStream
// may have answered a request that was taken for lost.
func (s *pullConsumer) arrived() (turn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn = len(s.held) == 0 && s.hasTurnLocked()
	s.asked = max(0, s.asked-1)
	s.inFlight++
	s.warned = false
	return turn
}

// hasTurnLocked reports whether one more may be handled beside those that are.
func (s *pullConsumer) hasTurnLocked() bool { return s.inFlight-len(s.held) < s.config.inFlight }

// start admits an event to the handlers. It returns false if it is not its turn, there is no room for it yet, or never will be.
func (s *pullConsumer) start(in *serverCall, d *delivery, turn bool) bool {
	switch s.conn.handlers.AcquireEvent(turn) {
	case worker.Closed:
		d.nakNow()
		return false
	case worker.Full:
		s.hold(in, d)
		return false
	default:
		s.begin(in, d)
		return true
	}
}

// begin prepares an event that was admitted to be handled.
func (s *pullConsumer) begin(in *serverCall, d *delivery) {
	s.conn.server.Start(&in.Incoming)
	d.handledUntil(in.Handler.Ends)
}

// done makes room for another event: first for those of other kinds that wait for it, or this one could hold them up.
func (s *pullConsumer) done() {
	s.mu.Lock()
	s.inFlight--
	s.mu.Unlock()
	s.conn.events.startHeld(s)
	s.fetch()
}

// runStored wraps the run of an endpoint: it refuses events that break a rule, or were tried often enough.
func runStored(run func(context.Context, *serverCall) (*wire.Response, error)) func(context.Context, *serverCall) (*wire.Response, error) {
	return func(ctx context.Context, in *serverCall) (*wire.Response, error) {
		d, ok := in.Replier.(*delivery)
		switch {
		case ok && d.err != nil:
			return nil, unsent(d.err)
		case ok && d.attempt > d.from.config.attempts: // who had it before has not put it off, or could not park it
			return nil, newError(http.StatusInternalServerError, ExecutedNo, nil, "all attempts are used up: the instances that handled the event died, did not finish in time, or could not park it, as their log says")
		}
		return run(ctx, in)
	}
}
