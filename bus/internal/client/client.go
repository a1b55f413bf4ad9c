// Package client is the caller's side of the bus: it sends requests, and receives the acks and responses.
//
// A unicast call ([Client.Call]) has at most one handler, unless its endpoint has no queue. The client sends the
// request, waits for the ack of the instance that takes it and for the response, or finds out why there is none: no
// instance subscribes, the broker denies the request, the instance is lost, or the time budget is spent. Only a request
// that has provably reached no instance is sent again. A multicast ([Client.Gather]) gathers the responses of all
// instances.
//
// Acks and responses find their call in pending, by message id. Every pending call is a [slot]: a pendingCall or a
// pendingMulticast.
package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Config is what a client works with. All fields are set.
type Config struct {
	Owner           any // the connection, which is the Owner in the contexts of its handlers
	Host, ID, Plane string
	AckWait         time.Duration
	MaxMessage      int            // bytes of a body
	Memory          *stream.Memory // what peers make this connection buffer
	AllowResponses  bool           // see bus.WithAllowResponses
	Broker          *natsconn.Conn
	Membership      *Membership
	Base            context.Context //nolint:containedctx // ends when the owner gives up on its calls
	Controls        *worker.Limiter // the requests of the framework that are being handled
	Logger          zerolog.Logger

	// Deliver hands a request to an instance of this process, and sets Local. Without such an instance, Deliver makes the
	// request ready for the broker. After an error no handler has run.
	Deliver func(ctx context.Context, request *Outgoing) (delivered bool, err error)
	// NotServed returns the response of a host that serves a path only under other methods, or not at all. meant is the
	// path that is probably meant then, if there is one.
	NotServed func(request *Outgoing, methods []string, meant string, by Peer) *wire.Response
	// Encode returns an error as a response.
	Encode func(*status.Error) *wire.Response
	// Opened takes the window for a response of this connection that is a stream, in an ack of its caller. It reports
	// whether there is one.
	Opened func(ack *wire.Response) bool
	// OpenLocal passes the window for a response to an instance of this process that sends it.
	OpenLocal func(to Peer, ack *wire.Response)
	// DeliverPart hands a part of a request to the instance of this process that has taken part 1, which keeps the body.
	DeliverPart func(request *Outgoing, part *wire.Request)
	// Dropped is called when a message cannot be received.
	Dropped func(subject string, err error)
}

// Client makes the calls of one connection. Its methods are safe for concurrent use.
type Client struct {
	config     Config
	broker     *natsconn.Conn
	response   string // the response subject
	pending    *pending
	responders *responderCache
	calls      *worker.Limiter // the calls in flight
	left       leftCalls
	unmatched  atomic.Int64
	began      time.Time
}

// New returns a client. The owner passes messages on [Client.ResponseSubject] to [Client.Receive], and messages one
// token below to [Client.ReceiveBelow].
func New(config Config) *Client {
	c := &Client{
		config: config, broker: config.Broker, began: time.Now(),
		response:   subject.Response(config.Plane, config.Host, config.ID),
		responders: newResponderCache(config.Plane, config.Membership), calls: worker.NewLimiter(0),
	}
	c.pending = newPending(c.unexpected, config.Encode, config.MaxMessage, config.Memory)
	c.pending.client = c
	return c
}

// Window returns how many bytes of a response that is a stream a service may send at first.
func (c *Client) Window() uint32 { return uint32(stream.FirstWindow(c.config.Memory)) }

// ResponseSubject returns the subject of acks and responses.
func (c *Client) ResponseSubject() string { return c.response }

// Calls returns the limiter of the calls in flight. Once the limiter is closed, it admits only calls of handlers.
func (c *Client) Calls() *worker.Limiter { return c.calls }

// Unmatched returns the number of acks and responses without a waiting caller.
func (c *Client) Unmatched() int64 { return c.unmatched.Load() }

// PublishDenied ends the calls to a subject that the broker denies.
func (c *Client) PublishDenied(subject string) { c.pending.denied(subject) }

// ForgetOthers forgets which instances there are, so that the next multicasts look for them.
func (c *Client) ForgetOthers() { c.responders.forgetAll() }

// Knows reports whether an instance has announced itself, or has acked a multicast.
func (c *Client) Knows(instance Peer) bool { return c.config.Membership.Has(c.config.Plane, instance) }

// Greeted notes that an instance has come, or, if stays is false, has left.
func (c *Client) Greeted(by Peer, stays bool) { c.responders.greeted(by, stays) }

// Outgoing is a request to be sent, and its address.
type Outgoing struct {
	wire.Request
	Address subject.Address
	Subject string            // of the address, on the client's plane; "" until the request is prepared
	Head    *wire.RequestHead // the prepared beginning; nil for none
	Fields  *callctx.Fields   // of the context, which are in the header; nil for none
	Values  any               // for Deliver alone
	Caller  context.Context   //nolint:containedctx // ends a response that is a stream; nil for the context of Call

	Takers *Takers // shows who has acked; nil for none

	Near      bool // an instance of this process probably serves it
	Local     bool // the latest attempt stayed in the process
	NotServed bool // the response is made by Config.NotServed, and not by an instance

	// the subject on which the broker reports that no instance subscribes; it ends with the message id, and is "" until
	// the broker needs it if an instance is near
	reply   string
	waiting *pendingCall // the slot of the attempt; nil without a waiting caller
}

// NewOutgoing addresses a request. HEAD travels as GET, with a field that says so; the caller drops the body.
func NewOutgoing(method string, to *url.URL, header wire.Header, body []byte) (Outgoing, error) {
	isHead := method == http.MethodHead
	if isHead {
		method = http.MethodGet
	}
	address, err := subject.FromURL(method, to)
	if err != nil {
		return Outgoing{}, err
	}
	target := address.Path
	if to.RawQuery != "" {
		target += "?" + to.RawQuery
	}
	return Outgoing{
		Address: address,
		Request: wire.Request{Method: method, IsHead: isHead, Target: target, Host: address.Host, Header: header, Body: body},
	}, nil
}

// sender returns the host that must answer: the host of the address or, for an event, any host.
func (o *Outgoing) sender() string {
	if o.Address.Port == subject.EventPort {
		return subject.HostAll
	}
	return o.Address.Host
}

// begin counts a call until c.calls.Done. Once the client is closed, only running handlers may make calls.
func (c *Client) begin(ctx context.Context) error {
	if h := callctx.Of(ctx); h != nil && h.Owner == c.config.Owner && c.config.Base.Err() == nil &&
		h.AcquireNested(c.calls) {
		return nil
	}
	if c.calls.Acquire() != worker.Admitted {
		return status.NotRun(http.StatusServiceUnavailable, status.ErrClosed, "the connection of %s is closed", c.config.Host)
	}
	return nil
}

// prepare sets all that depends on the sender and on the chain of calls. After an error the request must not be sent.
func (c *Client) prepare(ctx context.Context, request *Outgoing) (err error) {
	request.FromHost, request.FromID = c.config.Host, c.config.ID
	if request.Subject == "" { // an operation has set it in its template
		if request.Subject, err = request.Address.Subject(c.config.Plane); err != nil {
			return status.Unsent(err)
		}
	}
	callctx.Inherit(ctx, &request.Request, request.Fields)
	rest := len(request.Target) + len(request.Actor) + len(request.CallerProof)
	if err := stream.CheckHead(rest, request.Header); err != nil {
		return err
	}
	return stream.CheckBody(request.Body, c.config.MaxMessage)
}

// setAttemptHeaders sets what differs between the attempts of a request: the message id, the reply subject and the time
// budget.
func (c *Client) setAttemptHeaders(request *Outgoing, ends time.Time) {
	if request.Near {
		id := newID()
		request.reply, request.MsgID = "", string(id[:])
	} else {
		request.reply, request.MsgID = c.newReply()
	}
	request.TimeBudget = time.Until(ends).Truncate(time.Millisecond)
}

func (c *Client) log(event *zerolog.Event, message string) { c.broker.Lines.Add(event, message) }

// Counts are the numbers of things that a client holds at one moment.
type Counts struct {
	Pending   int // calls that wait for an ack or a response
	Watched   int // instances that probes ask the broker for
	Partial   int // calls with an incomplete response in parts
	PartBytes int // bytes held by these responses
}

// Counts returns the present counts.
func (c *Client) Counts() Counts {
	counts := Counts{PartBytes: c.pending.memory.BytesHeld()}
	release := c.Hold()
	for i := range c.pending.shards {
		counts.Pending += len(c.pending.shards[i].slots)
		counts.Partial += len(c.pending.shards[i].incoming)
	}
	release()
	c.pending.watching.Lock()
	defer c.pending.watching.Unlock()
	counts.Watched = len(c.pending.watches)
	return counts
}

// Hold blocks the delivery of acks and responses until the call of release.
func (c *Client) Hold() (release func()) {
	for i := range c.pending.shards {
		c.pending.shards[i].mu.Lock()
	}
	return func() {
		for i := range c.pending.shards {
			c.pending.shards[i].mu.Unlock()
		}
	}
}

// send hands a request to an instance of this process, or publishes it.
func (c *Client) send(ctx context.Context, request *Outgoing) error {
	streams := request.Stream != nil && request.waiting != nil
	if streams {
		c.newUpload(request, stream.Plan{})
	}
	if delivered, err := c.config.Deliver(ctx, request); delivered || err != nil {
		return err
	}
	if request.reply == "" {
		request.reply = c.response + "." + request.MsgID
	}
	if request.waiting != nil {
		if err := c.pending.list(request.waiting, request.MsgID); err != nil {
			return err
		}
	}
	if streams {
		return c.publishStream(ctx, request)
	}
	return c.Publish(ctx, request)
}

// Publish publishes a prepared request. Its reply subject is only for the broker's notice that no instance subscribes:
// acks and responses come to the response subject. After an error nothing was sent.
func (c *Client) Publish(ctx context.Context, request *Outgoing) error {
	fits, err := c.publish(ctx, request.Subject, request.reply, request.Head, &request.Request)
	if !fits && err == nil {
		return c.publishParts(ctx, request)
	}
	return err
}

// newID returns a message id: 26 characters with 130 random bits.
func newID() (id [26]byte) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	_, _ = rand.Read(id[:]) // it never fails
	for i, random := range id {
		id[i] = alphabet[random%32]
	}
	return id
}

// newReply returns a reply subject and its last token, which is a message id.
func (c *Client) newReply() (reply, msgID string) {
	id := newID()
	buffer := make([]byte, 0, 256)
	buffer = append(append(append(buffer, c.response...), '.'), id[:]...)
	reply = string(buffer)
	return reply, reply[len(c.response)+1:]
}

// publish publishes a request, or a part of one. fits reports whether one message has room for it. head, if it is not
// nil, is the beginning that all requests of an operation have in common.
func (c *Client) publish(ctx context.Context, to, reply string, head *wire.RequestHead,
	request *wire.Request) (fits bool, err error) {
	if c.broker.Exceeds(len(request.Body)) { // no need to encode it
		return false, nil
	}
	if len(request.Body) >= natsconn.Large {
		return c.broker.SendLarge(ctx, request.TimeBudget, to, reply,
			func(buffer []byte) []byte { return wire.AppendRequest(buffer, request) })
	}
	buffer := c.broker.Buffer()
	if head != nil {
		*buffer = head.AppendRequest((*buffer)[:0], request)
	} else {
		*buffer = wire.AppendRequest((*buffer)[:0], request)
	}
	return c.broker.Send(ctx, request.TimeBudget, to, reply, buffer)
}

// Tell publishes a request and does not wait for an answer, outside of any chain of calls.
func (c *Client) Tell(ctx context.Context, request *Outgoing) error {
	if err := c.prepareStandalone(request); err != nil {
		return err
	}
	return c.Publish(ctx, request)
}

// prepareStandalone prepares a request outside of any chain of calls: the request has its own time budget and depth.
func (c *Client) prepareStandalone(request *Outgoing) error {
	if err := c.prepare(context.Background(), request); err != nil {
		return err
	}
	c.setAttemptHeaders(request, time.Now().Add(wire.DefaultTimeBudget))
	return nil
}

// PublishEvent prepares an event, and runs send, which publishes or stores the event. The handlers of an event do not
// belong to the call that publishes the event: they have a whole time budget, and share only the depth, the actor and
// the trace of the chain.
func (c *Client) PublishEvent(ctx context.Context, event *Outgoing, send func(context.Context) error) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	defer c.calls.Done()
	if ctx.Err() != nil {
		code := http.StatusServiceUnavailable
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			code = http.StatusGatewayTimeout
		}
		return status.NotRun(code, status.ContextEnded(ctx), "the context ended before the event was published")
	}
	if err := c.prepare(ctx, event); err != nil {
		return err
	}
	if event.CallDepth > wire.MaxCallDepth {
		return status.NotRun(http.StatusLoopDetected, nil, "calls and events are nested more than %d deep", wire.MaxCallDepth)
	}
	c.setAttemptHeaders(event, time.Now().Add(wire.DefaultTimeBudget))
	return send(ctx)
}

// cancelPath is the path of the request that cancels a call at an instance.
const cancelPath = "/cancel"

// maxLeft bounds the calls that leftCalls remembers.
const maxLeft = 8192

// leftCalls remembers the latest calls whose callers have left, by message id: an instance whose ack comes later is to
// be notified. It is safe for concurrent use.
type leftCalls struct {
	mu   sync.Mutex // protects all below
	ids  map[string]struct{}
	ring []string // of ids, and of some that were removed
	next int      // index of the oldest once the ring is full
}

// add remembers a call.
func (l *leftCalls) add(msgID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil {
		l.ids = make(map[string]struct{})
	}
	l.ids[msgID] = struct{}{}
	if len(l.ring) < maxLeft {
		l.ring = append(l.ring, msgID)
		return
	}
	delete(l.ids, l.ring[l.next])
	l.ring[l.next] = msgID
	l.next = (l.next + 1) % maxLeft
}

// remove forgets a call, and reports whether it was remembered.
func (l *leftCalls) remove(msgID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.ids[msgID]
	delete(l.ids, msgID)
	return known
}

// cancelAll notifies the instances that have acked a request that the caller has stopped waiting, and waits for no
// answer. An instance whose ack comes later is notified then, see leftCalls.
func (c *Client) cancelAll(ctx context.Context, msgID string, from []Peer) {
	for _, at := range from {
		if err := c.cancel(ctx, msgID, at); err != nil {
			c.log(c.config.Logger.Debug().Err(err).Str("msgId", msgID).Str("callee", at.ID+"."+at.Host), "cancel was not sent")
		}
	}
}

func (c *Client) cancel(ctx context.Context, msgID string, at Peer) error {
	request, err := NewOutgoing(http.MethodPost, &url.URL{
		Scheme: "https", Host: at.ID + "." + at.Host + ":" + strconv.Itoa(subject.ControlPort), Path: cancelPath,
		RawQuery: url.Values{"id": {msgID}}.Encode(),
	}, nil, nil)
	if err == nil {
		err = c.prepareStandalone(&request)
	}
	if err != nil {
		return err
	}
	return c.send(ctx, &request)
}
