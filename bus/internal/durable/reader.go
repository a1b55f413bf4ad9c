package durable

import (
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Consumer is a pull consumer: it fetches stored events of one kind, which is one path of one publisher, for an
// instance. It fetches as many at a time as can be handled at once, and no more before these have come, so that few
// wait here while another instance could handle them. It is safe for concurrent use.
//
//	fetch ──▶ JetStream ──▶ inbox ──▶ receive ──▶ handler ──▶ ack, nak, or dead letter (delivery.go)
//
// The inbox is a subscription like any other, so closing the connection drains it, and the events that have come are
// handled.
type Consumer struct {
	of          *Subscription
	name        ConsumerName
	inbox       string
	pattern     string // of the inboxes of all instances
	maxInFlight int

	mu         sync.Mutex    // protects all below
	fetching   int           // events that may still come
	maxBatch   int           // events of one fetch; 0: no limit
	maxExpiry  time.Duration // of one fetch; 0: no limit
	inFlight   int
	waiting    []waitingEvent // events in flight that wait for room among the handlers, or for their turn
	fetchTimer *time.Timer    // fetches again when the last fetch must have been answered
	roomTimer  *time.Timer    // checks again whether the handlers have room
	was        position       // at the last look
	missing    bool           // the consumer has to be created again, or to be looked at
}

func newConsumer(of *Subscription, name ConsumerName) *Consumer {
	c := of.config
	below := "." + storedInbox + "." + HostToken(of.store.Publisher) + "." + name.Event
	consumer := &Consumer{of: of, name: name, maxInFlight: of.options.MaxInFlight}
	if consumer.isOrdered() {
		consumer.maxInFlight = 1
		below += "." + name.Partition
	}
	consumer.inbox, consumer.pattern = c.Inbox+below, subject.Response(c.Plane, c.Host, AnyToken)+below
	consumer.fetchTimer, consumer.roomTimer = time.AfterFunc(time.Hour, consumer.fetchLater), time.AfterFunc(time.Hour,
		consumer.lookForRoom)
	consumer.stop()
	return consumer
}

func (s *Consumer) stop() {
	s.fetchTimer.Stop()
	s.roomTimer.Stop()
}

// Inbox returns the subscription for the events that are fetched.
func (s *Consumer) Inbox() *natsconn.Subscription {
	return &natsconn.Subscription{Subject: s.inbox, Receive: s.receive, Pattern: s.pattern, For: "stored events"}
}

// storedInbox is a token of the subject of the stored events for an instance:
// "bus.r.example.mailer.<id>.e.orders_example.on-ordered", and ".17" for partition 17.
const storedInbox = "e"

// receive receives an event, on the goroutine that reads from the broker.
func (s *Consumer) receive(message *nats.Msg, reader *wire.Reader) worker.Job {
	if status := message.Header.Get("Status"); status != "" && message.Reply == "" { // an event is to be acked
		if status != "100" { // an idle heartbeat, which no caller has asked for
			s.handleStatus(status, message.Header.Get("Description"))
		}
		return nil
	}
	s.of.came.Store(true)
	turn := s.arrived()
	d := newDelivery(s, message)
	in := s.of.config.Service.New()
	in.Address, in.Match = s.of.address, s.of.served
	in.Size, in.Replier, in.ReplyTo, in.IsEvent = len(message.Data), d, message.Reply, true
	d.err = reader.ParseRequest(message.Data, in.Request)
	if d.err == nil {
		d.err = s.objection(in.Request)
	}
	in.Request.CallerProof = "" // any client may have put it into the log
	in.Handler.Event = d.event(in)
	in.Request.TimeBudget = wire.DefaultTimeBudget
	if longest := s.of.served.Endpoint.TimeBudget; longest > 0 {
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

// objection returns why an event must not be handled. JetStream stores whatever is published to it, by any client.
func (s *Consumer) objection(event *wire.Request) error {
	unknown := s.of.config.CheckSender(event)
	_, contradiction := server.AddressOf(event, s.of.subject)
	switch {
	case unknown != nil:
		return unknown
	case event.Fragment.IsPart():
		return status.NotRun(http.StatusBadRequest, nil, "header Bus-Fragment: a stored event has one part")
	case event.CallDepth > wire.MaxCallDepth:
		return server.ErrTooDeep()
	default:
		return contradiction
	}
}

// arrived counts an event, and reports whether the event may be handled now. It may not if others wait here, or too
// many are in flight: JetStream may have answered a fetch that counted as lost.
func (s *Consumer) arrived() (turn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn = len(s.waiting) == 0 && s.hasTurnLocked()
	s.fetching = max(0, s.fetching-1)
	s.inFlight++
	s.of.warned.Store(false)
	return turn
}

// hasTurnLocked reports whether one more event may be handled.
func (s *Consumer) hasTurnLocked() bool { return s.inFlight-len(s.waiting) < s.maxInFlight }

// start admits an event to the handlers. It returns false if the event has to wait, or the connection is closing or not
// ready.
func (s *Consumer) start(in *server.Incoming, d *delivery, turn bool) bool {
	if s.of.config.Paused.Load() { // an earlier fetch has brought it
		s.leave()
		d.giveBack(fetchRetry)
		return false
	}
	switch s.of.config.Handlers.AcquireEvent(turn) {
	case worker.Closed:
		d.giveBack(0)
		return false
	case worker.Full:
		s.enqueue(in, d)
		return false
	default:
		s.begin(in, d)
		return true
	}
}

// begin prepares an admitted event for its handler.
func (s *Consumer) begin(in *server.Incoming, d *delivery) {
	s.of.config.Server.Start(in)
	ends, _ := in.Handler.Deadline()
	d.handledUntil(ends)
}

// leave ceases to count an event.
func (s *Consumer) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}

// done makes room for another event: first for those of other kinds that wait, so that this kind does not starve them.
func (s *Consumer) done() {
	s.leave()
	s.of.config.StartWaiting(s.of)
	s.fetch()
}

// Check returns an error for an event that breaks a rule, or whose attempts are used up; nil for other requests. Its
// handler is then not called.
func Check(in *server.Incoming) error {
	d, ok := in.Replier.(*delivery)
	switch {
	case ok && d.err != nil:
		return d.err
	// the instance before this one has not sent a nak, or could not store the dead letter
	case ok && d.attempt > d.from.of.options.MaxDeliver:
		return status.NotRun(http.StatusInternalServerError, nil, "all attempts are used up: the instances that handled "+
			"the event died, did not finish in time, or could not park it, as their log says")
	default:
		return nil
	}
}
