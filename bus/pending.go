package bus

import (
	"net/http"
	"sync"

	"github.com/busline/busline/bus/wire"
)

// pending holds a slot for each request that waits for an answer, by message id. A slot is opened before its request
// leaves, and closed by whoever opened it, on every path.
type pending struct {
	shards [16]shard // by the last byte of the id, so that calls do not wait for each other

	reminder reminder // of the callers that wait

	watching sync.Mutex        // protects watches
	watches  map[string]func() // called when nobody is there, by the token of the probe

	unused   sync.Pool            // of *unicastSlot
	stranger func(*wire.Response) // called with acks and responses without a slot
	limit    int                  // of the body of a response, in bytes
	memory   *partsMemory         // of responses that come in parts
}

// shard holds some of the slots.
type shard struct {
	mu        sync.Mutex // protects what is below, and is held while a method of a slot is called
	slots     map[string]slot
	arriving  map[string]arriving // by message id; nothing without a slot
	reminders reminders
}

// slot receives what arrives for one request. Its methods are called on the goroutines that read from the broker: they
// must not block. None is called any more once the slot is closed.
type slot interface {
	// expects says whether an ack or a response may come from its sender.
	expects(response *wire.Response) bool
	// acknowledge takes an ack, and does not keep it.
	acknowledge(ack *wire.Response) (inTime bool)
	respond(response *wire.Response)
	// spoilAck takes why an ack was dropped, for the error of a call that gets no response.
	spoilAck(err error)
	// spoil takes the error that stands for a malformed response, of which the sender may be unknown.
	spoil(response *wire.Response, failed *Error)
	// absent is called when nobody subscribes: the request has reached no one.
	absent()
	// denied is called when the broker refuses messages to a subject. The request may have gone to another one.
	denied(subject string)
}

func newPending(stranger func(*wire.Response), limit int, memory *partsMemory) *pending {
	p := &pending{watches: make(map[string]func()), stranger: stranger, limit: limit, memory: memory}
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
	at.forget(id)
}

// deliver hands an ack or a response to its slot. If nobody waits for it, or it is from an instance that was not asked, it
// goes to stranger.
func (p *pending) deliver(response *wire.Response) {
	if !p.take(response) {
		p.stranger(response)
	}
}

// take hands a message to its slot; false if nobody waits for it.
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
		s.respond(p.lost(response, tooLarge(int64(len(response.Body)), p.limit)))
	default:
		s.respond(response)
	}
	return true
}

// spoil takes what can be read of a malformed ack or response, and the error of parsing it. A response ends the call at its
// sender: another one does not come.
func (p *pending) spoil(response *wire.Response, err error) {
	at := p.shard(response.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[response.MsgID]
	hasSender := response.FromHost != "" && response.FromID != ""
	switch {
	case s == nil || (hasSender && !s.expects(response)):
	case response.OpCode == wire.OpAck:
		s.spoilAck(err)
	default:
		if part := at.arriving[response.MsgID][senderOf(response)]; part != nil {
			part.giveUp()
		}
		s.spoil(response, malformed(response, err))
	}
}

// malformed is the error of a call whose response cannot be understood. Its text may quote the response.
func malformed(response *wire.Response, err error) *Error {
	failed := newError(http.StatusBadGateway, ExecutedUnknown, err, "the response is malformed: %v", err)
	failed.Host, failed.ID, failed.MsgID, failed.internal = response.FromHost, response.FromID, response.MsgID, true
	return failed
}

// absent takes the broker's notice that nobody is there for a request, or for a probe.
func (p *pending) absent(id string) {
	if p.shard(id).absent(id) {
		return
	}
	p.watching.Lock()
	absent := p.watches[id]
	p.watching.Unlock()
	if absent != nil {
		absent()
	}
}

// absent is false if there is no such request.
func (at *shard) absent(id string) bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[id]
	if s != nil {
		s.absent()
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

// watch has absent called when nobody is there for the probe of that token.
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

// cameFrom says whether a response is from the host, or the instance of it, that was called.
func cameFrom(response *wire.Response, called string) bool {
	return called == hostAll || response.FromHost == called || joins(called, response.FromID, response.FromHost)
}

// joins says whether a text is two others with a dot between: an instance and its host, a subject and a token.
func joins(text, first, second string) bool {
	return len(text) == len(first)+1+len(second) && text[:len(first)] == first && text[len(first)] == '.' && text[len(first)+1:] == second
}
