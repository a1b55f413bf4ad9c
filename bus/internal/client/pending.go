package client

import (
	"net/http"
	"sync"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// pending holds the slots of the requests that wait for an answer, by message id. The code that sends a request opens the slot before, and
// closes it on every path.
type pending struct {
	shards [16]shard // by the last byte of the id, so that calls do not wait for each other

	reminder reminder // wakes waiting callers

	watching sync.Mutex        // protects watches
	watches  map[string]func() // called at the notice that no instance subscribes, by the token of the probe

	unused     sync.Pool            // of *pendingCall
	unexpected func(*wire.Response) // called with acks and responses without a slot
	encode     func(*status.Error) *wire.Response
	limit      int              // of the body of a response, in bytes
	memory     *fragment.Memory // for responses in fragments
}

// shard holds the slots of some message ids.
type shard struct {
	mu        sync.Mutex // protects all below; held during calls of the methods of a slot
	slots     map[string]slot
	partial   map[string]partialResponses // by message id; only for open slots
	reminders reminders
}

// slot receives the acks and responses of one request. Its methods run on the goroutines that read from the broker, so they must not
// block. They are not called after the slot is closed.
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

func newPending(unexpected func(*wire.Response), encode func(*status.Error) *wire.Response, limit int, memory *fragment.Memory) *pending {
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

// deliver passes an ack or a response to its slot. A message without a slot, or from an unexpected sender, goes to unexpected.
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
	case len(response.Body) > p.limit:
		s.respond(p.failedResponse(response, fragment.TooLarge(int64(len(response.Body)), p.limit)))
	default:
		s.respond(response)
	}
	return true
}

// noteMalformed takes the legible fields of a malformed ack or response, and the error of parsing. A malformed response ends the call at
// its sender, which sends no other response.
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
		if part := at.partial[response.MsgID][SenderOf(response)]; part != nil {
			part.drop()
		}
		s.noteMalformed(response, malformed(response, err))
	}
}

// malformed is the error for a malformed response. Its text may quote the response.
func malformed(response *wire.Response, err error) *status.Error {
	failed := status.Errorf(http.StatusBadGateway, status.ExecutedUnknown, err, "the response is malformed: %v", err)
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
	return called == subject.HostAll || response.FromHost == called || subject.Joins(called, response.FromID, response.FromHost)
}
