package bus

import (
	"sync"

	"github.com/busline/busline/bus/wire"
)

// pending holds a slot for each request that is on its way, by message id. A slot is opened before its request
// leaves, and closed by whoever opened it, on every path.
type pending struct {
	mu    sync.Mutex // protects slots
	slots map[string]slot

	stranger func(*wire.Response) // told of acks and responses without a slot
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
}

func newPending(stranger func(*wire.Response)) *pending {
	return &pending{slots: make(map[string]slot), stranger: stranger}
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
	default:
		s.respond(response)
	}
}

func (p *pending) absent(id string) {
	if s := p.find(id); s != nil {
		s.absent()
	}
}

// cameFrom says whether a response is from the host, or the instance of it, that was called.
func cameFrom(response *wire.Response, called string) bool {
	return called == hostAll || response.FromHost == called || response.FromID+"."+response.FromHost == called
}
