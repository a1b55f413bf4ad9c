package client

import (
	"net/http"
	"sync"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// pending holds a slot for each request that waits for an answer, by message id. A slot is opened before its request
// leaves, and closed by the code that opened it, on every path.
type pending struct {
	shards [16]shard // by the last byte of the id, so that calls do not wait for each other

	reminder reminder // of the callers that wait

	watching sync.Mutex        // protects watches
	watches  map[string]func() // called when no instance is there, by the token of the probe

	unused     sync.Pool            // of *pendingCall
	unexpected func(*wire.Response) // called with acks and responses without a slot
	encode     func(*status.Error) *wire.Response
	limit      int              // of the body of a response, in bytes
	memory     *fragment.Memory // of responses that come in parts
}

// shard holds some of the slots.
type shard struct {
	mu        sync.Mutex // protects what is below, and is held while a method of a slot is called
	slots     map[string]slot
	partial   map[string]partialResponses // by message id; nothing without a slot
	reminders reminders
}

// slot receives what arrives for one request. Its methods are called on the goroutines that read from the broker: they
// must not block. None is called any more once the slot is closed.
type slot interface {
	// expects reports whether an ack or a response may come from its sender.
	expects(response *wire.Response) bool
	// acknowledge takes an ack, and does not keep it.
	acknowledge(ack *wire.Response) (inTime bool)
	respond(response *wire.Response)
	// noteMalformedAck takes why an ack was dropped, for the error of a call that gets no response.
	noteMalformedAck(err error)
	// noteMalformed takes the error that stands for a malformed response, of which the sender may be unknown.
	noteMalformed(response *wire.Response, failed *status.Error)
	// noResponders is called when no instance subscribes: the request has reached no one.
	noResponders()
	// denied is called when the broker refuses messages to a subject. The request may have gone to another one.
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

// deliver hands an ack or a response to its slot. If no caller waits for it, or it is from an instance that was not asked, it
// goes to unexpected.
func (p *pending) deliver(response *wire.Response) {
	if !p.take(response) {
		p.unexpected(response)
	}
}

// take hands a message to its slot; false if no caller waits for it.
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

// noteMalformed takes what can be read of a malformed ack or response, and the error of parsing it. A response ends the call at its
// sender: another one does not come.
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

// malformed is the error of a call whose response cannot be understood. Its text may quote the response.
func malformed(response *wire.Response, err error) *status.Error {
	failed := status.Errorf(http.StatusBadGateway, status.ExecutedUnknown, err, "the response is malformed: %v", err)
	failed.Host, failed.ID, failed.MsgID, failed.Internal = response.FromHost, response.FromID, response.MsgID, true
	return failed
}

// noResponders takes the broker's notice that no instance is there for a request, or for a probe.
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

// noResponders is false if there is no such request.
func (at *shard) noResponders(id string) bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[id]
	if s != nil {
		s.noResponders()
	}
	return s != nil
}

// denied is for all slots: the broker does not say which request it means.
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

// watch has absent called when no instance is there for the probe of that token.
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

// cameFrom reports whether a response is from the host, or the instance of it, that was called.
func cameFrom(response *wire.Response, called string) bool {
	return called == subject.HostAll || response.FromHost == called || subject.Joins(called, response.FromID, response.FromHost)
}
