package bus

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// storedEvents fetches the stored events of one source for an instance. It asks for as many at a time as can be handled at
// once, and for no more before these have come, so that none waits here while another instance could handle it.
//
//	ask ──▶ JetStream ──▶ inbox ──▶ receive ──▶ handler ──▶ acked, put off, or parked (eventdelivery.go)
//
// The inbox is a subscription like any other, so Close drains it, and the events that have come are handled.
type storedEvents struct {
	conn      *Conn
	source    string
	consumer  string
	inbox     string
	config    *durable
	through   map[string]*subscription // by the subject of the event; not changed
	unhandled atomic.Int64             // events that were parked

	mu       sync.Mutex // protects all below
	asked    int        // events that may still come
	inFlight int
	again    *time.Timer // asks again when a request must have been answered
	missing  bool        // the consumer has to be created again
	warned   bool        // a warning was logged since the last event
}

// subscribeStored creates the stream, if there is none, and the consumer of this service, and starts to ask for events.
func subscribeStored(ctx context.Context, c *Conn, source string, endpoints []*endpoint, config *durable) error {
	s := &storedEvents{
		conn: c, source: source, consumer: hostToken(c.host), config: config, through: make(map[string]*subscription),
		inbox: c.nats.response + "." + storedInbox + "." + hostToken(source),
	}
	if c.events.reads(source) {
		return errors.New("this connection is already subscribed to its stored events: handle all of them in one bus.Subscribe")
	}
	s.again = time.AfterFunc(time.Hour, s.askLater)
	s.again.Stop()
	err := c.installIn(ctx, c.events.of(source), endpoints, func([]*endpoint) error { return s.open(ctx, endpoints) })
	if err != nil {
		return err
	}
	context.AfterFunc(c.base, func() { s.again.Stop() })
	c.events.read(source, s)
	s.ask()
	return nil
}

// open subscribes to the inbox, and only if that is allowed creates the consumer, for which events are stored from then on.
func (s *storedEvents) open(ctx context.Context, endpoints []*endpoint) error {
	s.route(endpoints)
	if err := s.conn.subscribe(s.inbox, "", s.receive); err != nil {
		return err
	}
	if err := s.conn.link.flush(ctx); err != nil {
		return err
	}
	if err := s.conn.checkSubscriptions(); err != nil {
		return err
	}
	if err := s.ensure(ctx, endpoints); err != nil {
		return (&eventStream{s.conn, s.source}).failed(err)
	}
	return nil
}

// storedInbox is in the subject on which stored events come to an instance: "bus.r.example.mailer.<id>.e.orders_example".
const storedInbox = "e"

// route notes which endpoint handles which event.
func (s *storedEvents) route(endpoints []*endpoint) {
	for _, e := range endpoints {
		e.run = runStored(e.run)
		route := e.mapped.Routes[0]
		through := &subscription{endpoint: e}
		through.settle(s.conn, s.source, route)
		s.through[s.subjectOf(e)] = through
	}
}

func (s *storedEvents) subjectOf(e *endpoint) string {
	return subject.Event(s.conn.plane, s.source, tokens(e.mapped.Path())[0])
}

// receive takes an event, on the goroutine that reads from the broker.
func (s *storedEvents) receive(message *nats.Msg) *incoming {
	if status := message.Header.Get("Status"); status != "" && len(message.Data) == 0 {
		if status != "100" { // an idle heartbeat, which nobody has asked for
			s.told(status, message.Header.Get("Description"))
		}
		return nil
	}
	s.arrived()
	d := newDelivery(s, message)
	through := s.through[message.Subject]
	if through == nil { // another version of this service may know it
		d.refuse(askAgain)
		return nil
	}
	in := s.conn.newIncoming()
	in.Address, in.through, in.match = through.address, through, through.match
	in.size, in.back, in.backTo = len(message.Data), d, message.Reply
	d.fault = s.conn.link.intake.reader.ParseRequest(message.Data, in.Request)
	in.Request.TimeBudget = wire.DefaultTimeBudget
	if longest := through.endpoint.timeBudget; longest > 0 {
		in.Request.TimeBudget = longest
	}
	switch s.conn.admit(in) {
	case gateShut:
		d.refuse(0)
		return nil
	case gateFull:
		d.refuse(askAgain)
		return nil
	default:
		in.prepare(s.conn)
		s.conn.running.add(&in.serving, EventPort)
		d.begin(in.serving.deadline)
		return in
	}
}

func (s *storedEvents) arrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = max(0, s.asked-1)
	s.inFlight++
	s.warned = false
}

// done makes room for another event.
func (s *storedEvents) done() {
	s.mu.Lock()
	s.inFlight--
	s.mu.Unlock()
	s.ask()
}

// runStored wraps the run of an endpoint: it refuses events that cannot be parsed, or were tried often enough.
func runStored(run func(context.Context, *incoming) (*wire.Response, error)) func(context.Context, *incoming) (*wire.Response, error) {
	return func(ctx context.Context, in *incoming) (*wire.Response, error) {
		d, ok := in.back.(*delivery)
		switch {
		case ok && d.fault != nil:
			return nil, newError(http.StatusBadRequest, NotExecuted, d.fault, "%s", d.fault)
		case ok && d.attempt > d.from.config.attempts: // who had it before has not even put it off
			return nil, newError(http.StatusInternalServerError, NotExecuted, nil, "all attempts are used up: the instances that handled the event died or did not finish in time")
		}
		return run(ctx, in)
	}
}
