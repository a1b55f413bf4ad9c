package client

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

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
	if err := c.checkPlace(response, message.Subject); err != nil {
		c.config.Dropped(message.Subject, err)
		return nil
	}
	if response.Fragment.IsPart() {
		c.pending.deliverFragment(response, len(message.Data))
		return nil
	}
	c.pending.deliver(response)
	if response.OpCode == wire.OpAck { // slots do not keep acks
		c.broker.FreeResponse(response)
	}
	return nil
}

// ReceiveBelow takes a message on <response subject>.<message id>: the broker's notice that no instance subscribes to the subject of
// that message, or an answer (see bus.WithAllowResponses). It is a [natsconn.Receiver].
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
	errOtherMessage = errors.New("the message id of the answer is not the last token of the subject that it was published to")
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

// Deliver takes an ack or a response from an instance of this process.
func (c *Client) Deliver(response *wire.Response) { c.pending.deliver(response) }

// unexpected takes acks and responses without a waiting caller. From the late ack of a multicast the cache learns a responder.
func (c *Client) unexpected(response *wire.Response) {
	c.unmatched.Add(1)
	if response.OpCode == wire.OpAck {
		c.responders.late(response)
	}
}

// partialResponses are the incomplete responses to one request, by sender. The lock of the shard protects them. They end with the slot of
// the request.
type partialResponses map[Peer]*partialResponse

// partialResponse is a response with missing fragments.
type partialResponse struct {
	parts    *fragment.Reassembly // nil for a dropped response, whose other fragments are skipped
	response wire.Response
	held     fragment.Reservation
}

// deliverFragment takes a fragment of a response, in a message of size bytes. The slot gets a response after the last fragment, or after one
// that makes the response unreceivable.
func (p *pending) deliverFragment(part *wire.Response, size int) {
	if !p.takeFragment(part, size) {
		p.unexpected(part)
	}
}

// takeFragment reports whether the slot expects the fragment.
func (p *pending) takeFragment(part *wire.Response, size int) bool {
	at := p.shard(part.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[part.MsgID]
	if s == nil || !s.expects(part) {
		return false
	}
	switch response, err := p.collectLocked(at, part, size); {
	case errors.Is(err, fragment.ErrRepeated):
		return false
	case err != nil:
		s.respond(p.failedResponse(part, err))
	case response != nil:
		s.respond(response)
	default:
		s.acknowledge(part) // an instance that answers has the request, even if its ack is lost
	}
	return true
}

// collectLocked returns the response if this fragment completes it. After an error other than [fragment.ErrRepeated] the response is lost.
func (p *pending) collectLocked(at *shard, part *wire.Response, size int) (*wire.Response, error) {
	known, isNew := p.partialFromLocked(at, part)
	switch {
	case isNew:
		return nil, known.begin(part, size, p.limit)
	case known == nil || known.parts == nil:
		return nil, nil //nolint:nilnil // skipped
	}
	err := known.add(part, size)
	if errors.Is(err, fragment.ErrRepeated) || (err == nil && !known.parts.IsComplete()) {
		return nil, err
	}
	response, parts := known.response, known.parts
	known.drop()
	if err != nil {
		return nil, err
	}
	response.Body, response.Fragment = parts.Body(), wire.Fragment{}
	return &response, nil
}

// partialFromLocked returns the response of the fragment's sender; nil if there are too many senders.
func (p *pending) partialFromLocked(at *shard, part *wire.Response) (known *partialResponse, isNew bool) {
	of, from := at.partial[part.MsgID], SenderOf(part)
	if of == nil {
		of = make(partialResponses)
		if at.partial == nil {
			at.partial = make(map[string]partialResponses)
		}
		at.partial[part.MsgID] = of
	}
	if of[from] == nil && len(of) < maxResponders {
		of[from], isNew = &partialResponse{held: p.memory.Reserve("")}, true
	}
	return of[from], isNew
}

// begin takes the first fragment.
func (r *partialResponse) begin(part *wire.Response, size, limit int) error {
	if part.Fragment.Number != 1 {
		return status.Errorf(http.StatusBadGateway, status.ExecutedUnknown, nil, "part 1 of %d was lost on the way", part.Fragment.Count)
	}
	parts, err := fragment.NewReassembly(part.Fragment, part.Body, limit)
	if err != nil {
		return err
	}
	if err := r.held.Grow(2*size - len(part.Body)); err != nil { // the message, and the head again in response
		return err
	}
	r.parts, r.response = parts, *part
	return nil
}

// add takes the next fragment.
func (r *partialResponse) add(part *wire.Response, size int) error {
	if err := r.parts.Add(part.Fragment, part.Body); err != nil {
		return err
	}
	return r.held.Grow(size)
}

// drop frees the fragments.
func (r *partialResponse) drop() {
	r.parts, r.response = nil, wire.Response{}
	r.held.Free()
}

// forgetLocked drops the incomplete responses to a request.
func (at *shard) forgetLocked(id string) {
	for _, response := range at.partial[id] {
		response.drop()
	}
	delete(at.partial, id)
}

// failedResponse returns the response that replaces one that cannot be received. It says so in the name of the sender, which has handled
// the request.
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
	response.OpCode, response.FromHost, response.FromID, response.MsgID, response.Queue = part.OpCode, part.FromHost, part.FromID, part.MsgID, part.Queue
	return response
}
