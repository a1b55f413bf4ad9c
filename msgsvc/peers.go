package msgsvc

import (
	"context"
	"errors"
	"sync"

	"github.com/busline/busline/bus"
)

// peers are the replicas that this one has heard of, itself included. A multicast ends when nobody else has turned
// up for a moment; on a busy machine that can be before a slow replica has. Whoever is known and was not heard
// is asked alone.
type peers struct {
	mu  sync.Mutex // protects ids
	ids map[string]struct{}
}

func newPeers() *peers { return &peers{ids: make(map[string]struct{})} }

func (p *peers) met(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[id] = struct{}{}
}

// metCaller takes in whoever asks: only replicas do.
func (p *peers) metCaller(ctx context.Context) {
	if caller, ok := bus.CallerOf(ctx); ok {
		p.met(caller.ID)
	}
}

func (p *peers) lost(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ids, id)
}

// except returns all but those that were heard.
func (p *peers) except(heard map[string]struct{}) (missing []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.ids {
		if _, ok := heard[id]; !ok {
			missing = append(missing, id)
		}
	}
	return missing
}

// isGone tells a replica that has left, by the broker's word, from one that is slow.
func isGone(err error) bool { return errors.Is(err, bus.ErrNoResponder) }

// isUnheard tells a replica that may have left or may be slow: while somebody listens to all of the plane the broker finds a
// subscriber for every question. It has failed this question; a later one is not put to it alone again, as it may never
// answer. If it is there after all, it is met when it asks, or answers a multicast.
func isUnheard(err error) bool { return errors.Is(err, bus.ErrNoAck) }
