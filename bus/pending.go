package bus

import (
	"sync"

	"github.com/busline/busline/bus/wire"
)

// pending holds a slot for each request that is on its way, by message id. A slot is opened before its request
// leaves, and closed by whoever opened it, on every path.
type pending struct {
	shards [16]shard // by the last byte of the id, so that calls do not wait for each other

	reminder reminder // of those who wait

	watching sync.Mutex        // protects watches
	watches  map[string]func() // told that nobody is there, by the token of the question

	unused   sync.Pool            // of *unicastSlot
	acks     sync.Pool            // of *wire.Response, to parse the next one into
	stranger func(*wire.Response) // told of acks and responses without a slot
	limit    int                  // of the body of a response, in bytes
	memory   *partsMemory         // of those that come in parts
}

// shard is a part of the slots.
type shard struct {
	mu        sync.Mutex // protects what is below, and is held while a slot is told of something
	slots     map[string]slot
	arriving  map[string]arriving // by message id; nothing without a slot
	reminders reminders
}

// slot takes what arrives for one request. Its methods are called from the goroutines that read from the
// broker: they do not block. None is called any more once the slot is closed.
type slot interface {
	// expects says whether an ack or a response may come from that instance.
	expects(response *wire.Response) bool
	// acknowledge takes an ack, and does not keep it.
	acknowledge(ack *wire.Response) (inTime bool)
	respond(response *wire.Response)
	// absent tells that nobody subscribes: the request has reached no one.
	absent()
	// denied tells that the broker does not take what is published to a subject. The request may have gone elsewhere.
	denied(subject string)
}

func newPending(stranger func(*wire.Response), limit int, memory *partsMemory) *pending {
	p := &pending{watches: make(map[string]func()), stranger: stranger, limit: limit, memory: memory}
	p.reminder.callers = p
	return p
}

func (p *pending) shard(id string) *shard { return &p.shards[shardOf(id, len(p.shards))] }

// shardOf spreads message ids over so many shards by their last byte, which is random.
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

// deliver hands an ack or a response to its slot. What nobody waits for, or an instance that was not asked has
// sent, goes to stranger.
func (p *pending) deliver(response *wire.Response) {
	if !p.take(response) {
		p.stranger(response)
	}
}

// take is false for what nobody waits for.
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

// usualFields is for how many fields of a header there is room without more memory.
const usualFields = 2

// newResponse returns what an ack or a response can be parsed into.
func (p *pending) newResponse() *wire.Response {
	if unused, ok := p.acks.Get().(*wire.Response); ok {
		return unused
	}
	made := new(struct {
		wire.Response
		fields [usualFields]wire.Field // of its header, unless it has more
	})
	made.Header = made.fields[:0]
	return &made.Response
}

// reuseResponse takes back what nobody has kept, unless it is large.
func (p *pending) reuseResponse(response *wire.Response) {
	if cap(response.Header) > usualFields {
		return
	}
	*response = wire.Response{Header: response.Header[:0]}
	p.acks.Put(response)
}

// absent takes the broker's word that nobody is there for a request, or for a question.
func (p *pending) absent(id string) {
	if p.shard(id).absent(id) {
		return
	}
	p.watching.Lock()
	told := p.watches[id]
	p.watching.Unlock()
	if told != nil {
		told()
	}
}

// absent is false when there is no such request.
func (at *shard) absent(id string) bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[id]
	if s != nil {
		s.absent()
	}
	return s != nil
}

// denied tells all that wait: the broker does not say which request it means.
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

// watch has told be called when nobody is there for the question of that token.
func (p *pending) watch(token string, told func()) {
	p.watching.Lock()
	defer p.watching.Unlock()
	p.watches[token] = told
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
