package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// pending holds the slots of the requests that wait for an answer, by message id. The code that sends a request opens
// the slot before, and closes it on every path.
type pending struct {
	shards [16]shard // by the last byte of the id, so that calls do not wait for each other

	reminder reminder // wakes waiting callers

	watching sync.Mutex        // protects watches
	watches  map[string]func() // called at the notice that no instance subscribes, by the token of the probe

	unused     sync.Pool            // of *pendingCall
	unexpected func(*wire.Response) // called with acks and responses without a slot
	encode     func(*status.Error) *wire.Response
	limit      int            // of the body of a response, in bytes
	memory     *stream.Memory // for responses in parts
	client     *Client        // for responses that are streams
}

// shard holds the slots of some message ids.
type shard struct {
	mu        sync.Mutex // protects all below; held during calls of the methods of a slot
	slots     map[string]slot
	incoming  map[string]map[Peer]*incoming // responses in parts, by message id and sender; only for open slots
	reminders reminders
}

// slot receives the acks and responses of one request. Its methods run on the goroutines that read from the broker, so
// they must not block. They are not called after the slot is closed.
type slot interface {
	// expects reports whether an ack or a response may come from its sender.
	expects(response *wire.Response) bool
	// acknowledge takes an ack, and does not keep it.
	acknowledge(ack *wire.Response) (inTime bool)
	respond(response *wire.Response)
	// noteMalformedAck takes the error of a dropped ack, for the error of a call without a response.
	noteMalformedAck(err error)
	// noteMalformed takes the error for a malformed response, whose sender may be unknown.
	noteMalformed(response *wire.Response, failed *status.Error)
	// noResponders takes the notice that no instance subscribes to the subject of the request.
	noResponders()
	// denied takes a subject that the broker denies, which may be another one than that of the request.
	denied(subject string)
}

func newPending(unexpected func(*wire.Response), encode func(*status.Error) *wire.Response, limit int,
	memory *stream.Memory) *pending {
	p := &pending{watches: make(map[string]func()), unexpected: unexpected, encode: encode, limit: limit, memory: memory}
	p.reminder.callers = p
	return p
}

func (p *pending) shard(id string) *shard { return &p.shards[shardOf(id, len(p.shards))] }

// shardOf spreads message ids over count shards by their last byte, which is random.
func shardOf(id string, count int) int {
	if id == "" {
		return 0
	}
	return int(id[len(id)-1]) % count
}

func (p *pending) open(id string, s slot) {
	at := p.shard(id)
	at.mu.Lock()
	defer at.mu.Unlock()
	at.addLocked(id, s)
}

func (at *shard) addLocked(id string, s slot) {
	if at.slots == nil {
		at.slots = make(map[string]slot)
	}
	at.slots[id] = s
}

func (p *pending) close(id string) {
	at := p.shard(id)
	at.mu.Lock()
	defer at.mu.Unlock()
	delete(at.slots, id)
	at.forgetLocked(id)
}

// deliver passes an ack or a response to its slot. A message without a slot, or from an unexpected sender, goes to
// unexpected.
func (p *pending) deliver(response *wire.Response) {
	if !p.take(response) {
		p.unexpected(response)
	}
}

// take passes a message to its slot, and reports whether the slot expects it.
func (p *pending) take(response *wire.Response) bool {
	at := p.shard(response.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[response.MsgID]
	switch {
	case s == nil || !s.expects(response):
		return false
	case response.OpCode == wire.OpAck:
		return s.acknowledge(response)
	default:
		s.respond(p.fitting(response))
	}
	return true
}

// fitting returns a response, or the one in place of a response that is too large.
func (p *pending) fitting(response *wire.Response) *wire.Response {
	if len(response.Body) <= p.limit {
		return response
	}
	return p.failedResponse(response, stream.TooLarge(int64(len(response.Body)), p.limit))
}

// noteMalformed takes the legible fields of a malformed ack or response, and the error of parsing. A malformed response
// ends the call at its sender, which sends no other response.
func (p *pending) noteMalformed(response *wire.Response, err error) {
	at := p.shard(response.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[response.MsgID]
	hasSender := response.FromHost != "" && response.FromID != ""
	switch {
	case s == nil || (hasSender && !s.expects(response)):
	case response.OpCode == wire.OpAck:
		s.noteMalformedAck(err)
	default:
		if in := at.incoming[response.MsgID][SenderOf(response)]; in != nil && !in.isStream { // the slot ends a stream
			in.drop()
		}
		s.noteMalformed(response, malformed(response, err))
	}
}

// malformed is the error for a malformed response. Its text may quote the response.
func malformed(response *wire.Response, err error) *status.Error {
	failed := status.MayHaveRun(http.StatusBadGateway, err, "the response is malformed: %v", err)
	failed.Host, failed.ID, failed.MsgID, failed.Internal = response.FromHost, response.FromID, response.MsgID, true
	return failed
}

// noResponders takes the broker's notice that no instance subscribes to the subject of a request or a probe.
func (p *pending) noResponders(id string) {
	if p.shard(id).noResponders(id) {
		return
	}
	p.watching.Lock()
	absent := p.watches[id]
	p.watching.Unlock()
	if absent != nil {
		absent()
	}
}

// noResponders passes the notice to a slot, and reports whether there is one.
func (at *shard) noResponders(id string) bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[id]
	if s != nil {
		s.noResponders()
	}
	return s != nil
}

// denied takes a subject that the broker denies. All slots compare it, as the broker names no request.
func (p *pending) denied(subject string) {
	for i := range p.shards {
		p.shards[i].denied(subject)
	}
}

func (at *shard) denied(subject string) {
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, each := range at.slots {
		each.denied(subject)
	}
}

// watch registers the function to call at the notice that no instance subscribes to the subject of a probe.
func (p *pending) watch(token string, absent func()) {
	p.watching.Lock()
	defer p.watching.Unlock()
	p.watches[token] = absent
}

func (p *pending) unwatch(token string) {
	p.watching.Lock()
	defer p.watching.Unlock()
	delete(p.watches, token)
}

// cameFrom reports whether the sender is the called host or instance.
func cameFrom(response *wire.Response, called string) bool {
	return called == subject.HostAll || response.FromHost == called ||
		subject.Joins(called, response.FromID, response.FromHost)
}

// Receive takes a message on the response subject. It is a [natsconn.Receiver].
func (c *Client) Receive(message *nats.Msg, reader *wire.Reader) worker.Job {
	if len(message.Data) == 0 {
		return nil // a probe: see probe.go
	}
	response := c.broker.Response()
	if err := reader.ParseResponse(message.Data, response); err != nil {
		c.config.Dropped(message.Subject, err)
		if c.checkPlace(response, message.Subject) == nil {
			c.pending.noteMalformed(response, err)
		}
		return nil
	}
	if response.OpCode == wire.OpAck && response.Window > 0 && message.Subject == c.response && c.config.Opened(response) {
		c.broker.FreeResponse(response) // it is about a stream that this connection sends, and so no answer to it
		return nil
	}
	if err := c.checkPlace(response, message.Subject); err != nil {
		c.config.Dropped(message.Subject, err)
		return nil
	}
	if response.Fragment.IsPart() {
		c.pending.deliverPart(response, len(message.Data))
		return nil
	}
	isAck := response.OpCode == wire.OpAck // afterwards the caller may have freed a response
	c.pending.deliver(response)
	if isAck { // slots do not keep acks
		c.broker.FreeResponse(response)
	}
	return nil
}

// ReceiveBelow takes a message on <response subject>.<message id>: the broker's notice that no instance subscribes to
// the subject of that message, or an answer (see bus.WithAllowResponses). It is a [natsconn.Receiver].
func (c *Client) ReceiveBelow(message *nats.Msg, reader *wire.Reader) worker.Job {
	if len(message.Data) != 0 {
		return c.Receive(message, reader)
	}
	if message.Header.Get("Status") != strconv.Itoa(http.StatusServiceUnavailable) {
		c.config.Dropped(message.Subject, errors.New("only the broker may publish here"))
		return nil
	}
	c.pending.noResponders(message.Subject[strings.LastIndexByte(message.Subject, '.')+1:])
	return nil
}

var (
	errForgeable = errors.New("a connection with bus.WithAllowResponses accepts no answer on its response subject; " +
		"the service that answers must use that option, too")
	errOtherMessage = errors.New("the message id of the answer is not the last token of the subject that it was " +
		"published to")
)

// checkPlace returns an error for an ack or a response on a wrong subject.
func (c *Client) checkPlace(response *wire.Response, published string) error {
	switch {
	case subject.Joins(published, c.response, response.MsgID):
		return nil
	case published != c.response:
		return errOtherMessage
	case c.config.AllowResponses:
		return errForgeable
	default:
		return nil
	}
}

// Waiting is the slot of an attempt to call, for instances of this process; the zero value for a multicast.
type Waiting struct{ call *pendingCall }

// Waiting returns the slot of the present attempt.
func (o *Outgoing) Waiting() Waiting { return Waiting{o.waiting} }

// Deliver takes an ack or a response from an instance of this process.
func (c *Client) Deliver(to Waiting, response *wire.Response) {
	switch call := to.call; {
	case response.Fragment.IsPart():
		if call != nil && response.Fragment.Number == 1 {
			_ = c.pending.list(call, response.MsgID) // if there is no room for it, the part is unexpected
		}
		c.pending.deliverPart(response, len(response.Body))
	case call == nil:
		c.pending.deliver(response)
	case !call.take(c.pending.fitting(response)):
		c.unexpected(response)
	}
}

// unexpected takes acks and responses without a waiting caller. From the late ack of a multicast the cache learns a
// responder; the late ack of a call that was left is answered by a cancel.
func (c *Client) unexpected(response *wire.Response) {
	c.unmatched.Add(1)
	if response.OpCode != wire.OpAck {
		return
	}
	c.responders.late(response)
	if !c.left.remove(response.MsgID) {
		return
	}
	msgID, from := response.MsgID, []Peer{SenderOf(response)}
	c.calls.AcquireNested() // Close waits for it
	go func() {
		defer c.calls.Done()
		defer c.calls.Release()
		c.cancelAll(context.Background(), msgID, from)
	}()
}

// failedResponse returns the response that replaces one that cannot be received. It says so in the name of the sender,
// which has handled the request.
func (p *pending) failedResponse(part *wire.Response, why error) *wire.Response {
	failed := *status.Of(why)
	if failed.Status != http.StatusRequestEntityTooLarge && failed.RetryAfter == 0 {
		failed.Status = http.StatusBadGateway
	}
	failed.Executed = status.ExecutedYes
	failed.Detail = "the response cannot be received: " + failed.Detail
	failed.Host, failed.ID, failed.MsgID = part.FromHost, part.FromID, part.MsgID
	failed.RetryAfter = 0 // the request was executed, so a retry is not suggested
	response := p.encode(&failed)
	response.OpCode, response.MsgID, response.Queue = part.OpCode, part.MsgID, part.Queue
	response.FromHost, response.FromID = part.FromHost, part.FromID
	return response
}
