package bus

import (
	"maps"
	"slices"
	"sync"

	"github.com/busline/busline/bus/wire"
)

// pending holds a slot for each request that is on its way, by message id. A slot is opened before its request
// leaves, and closed by whoever opened it, on every path.
type pending struct {
	mu       sync.Mutex // protects slots and arriving
	slots    map[string]slot
	arriving map[string]arriving // by message id; nothing without a slot

	watching sync.Mutex        // protects watches
	watches  map[string]func() // told that nobody is there, by the token of the question

	stranger func(*wire.Response) // told of acks and responses without a slot
	limit    int                  // of the body of a response, in bytes
	memory   *partsMemory         // of those that come in parts
}

// slot takes what arrives for one request. Its methods are called from the goroutines that read from the
// broker: they do not block.
type slot interface {
	// expects says whether an ack or a response may come from that instance.
	expects(response *wire.Response) bool
	acknowledge(ack *wire.Response) (inTime bool)
	respond(response *wire.Response)
	// absent tells that nobody subscribes: the request has reached no one.
	absent()
	// denied tells that the broker does not take what is published to a subject. The request may have gone elsewhere.
	denied(subject string)
}

func newPending(stranger func(*wire.Response), limit int, memory *partsMemory) *pending {
	return &pending{
		slots: make(map[string]slot), arriving: make(map[string]arriving), watches: make(map[string]func()),
		stranger: stranger, limit: limit, memory: memory,
	}
}

func (p *pending) open(id string, s slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slots[id] = s
}

func (p *pending) close(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.slots, id)
	p.forget(id)
}

func (p *pending) find(id string) slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slots[id]
}

// deliver hands an ack or a response to its slot. What nobody waits for, or an instance that was not asked has
// sent, goes to stranger.
func (p *pending) deliver(response *wire.Response) {
	s := p.find(response.MsgID)
	switch {
	case s == nil || !s.expects(response):
		p.stranger(response)
	case response.OpCode == wire.OpAck:
		if !s.acknowledge(response) {
			p.stranger(response)
		}
	case len(response.Body) > p.limit:
		s.respond(p.lost(response, tooLarge(int64(len(response.Body)), p.limit)))
	default:
		s.respond(response)
	}
}

// absent takes the broker's word that nobody is there for a request, or for a question.
func (p *pending) absent(id string) {
	if s := p.find(id); s != nil {
		s.absent()
		return
	}
	p.watching.Lock()
	told := p.watches[id]
	p.watching.Unlock()
	if told != nil {
		told()
	}
}

// denied tells all that wait: the broker does not say which request it means.
func (p *pending) denied(subject string) {
	p.mu.Lock()
	slots := slices.Collect(maps.Values(p.slots))
	p.mu.Unlock()
	for _, each := range slots {
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
	return called == hostAll || response.FromHost == called || response.FromID+"."+response.FromHost == called
}
