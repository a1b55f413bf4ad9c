package bus

import (
	"maps"
	"sync"

	"github.com/busline/busline/bus/wire"
)

// responders remembers who has answered what, so that a multicast can end when all have, instead of waiting for
// a silence. A responder is a queue: an instance, on an endpoint without one.
type responders struct {
	mu        sync.Mutex                     // protects all below
	known     map[string]map[string]struct{} // subject → queue names
	forgotten int                            // how often anything was forgotten
	hosts     map[string]struct{}            // hosts that have answered this connection
	begun     map[string]string              // message id of a recent multicast → its subject
	ordered   []string                       // the ids in begun, oldest first
}

// Bounds of what is remembered. Beyond them the oldest, or any, is forgotten, which costs a caller one wait.
const (
	maxKnownSubjects = 4096
	maxMulticasts    = 4096
)

func newResponders() *responders {
	return &responders{
		known: make(map[string]map[string]struct{}),
		hosts: make(map[string]struct{}),
		begun: make(map[string]string),
	}
}

// memory is what was known of a subject when a multicast to it began.
type memory struct {
	names     map[string]struct{}
	forgotten int // how often anything had been forgotten
}

// begin returns what is known of a subject, and remembers the id of a multicast to it for acks that come late.
func (r *responders) begin(subject, id string) memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ordered) == maxMulticasts {
		delete(r.begun, r.ordered[0])
		r.ordered = r.ordered[1:]
	}
	r.begun[id] = subject
	r.ordered = append(r.ordered, id)
	return memory{names: maps.Clone(r.known[subject]), forgotten: r.forgotten}
}

// learn says who has answered a multicast that ended. It leaves alone what was learnt from late acks since it began,
// and learns nothing when something was forgotten since: it may have missed whoever came.
func (r *responders) learn(subject string, before memory, names map[string]struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forgotten != before.forgotten {
		return
	}
	for late := range r.known[subject] {
		if _, old := before.names[late]; !old {
			names[late] = struct{}{}
		}
	}
	for other := range r.known {
		if len(r.known) < maxKnownSubjects {
			break
		}
		delete(r.known, other)
	}
	r.known[subject] = names
}

// late learns from an ack that came after its multicast had ended.
func (r *responders) late(ack *wire.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if names := r.known[r.begun[ack.MsgID]]; names != nil {
		names[responderName(ack)] = struct{}{}
	}
}

// forget drops what is known of subjects, because instances came or went.
func (r *responders) forget(concerns func(subject string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgotten++
	for subject := range r.known {
		if concerns(subject) {
			delete(r.known, subject)
		}
	}
}

// heard remembers that a host has answered.
func (r *responders) heard(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.hosts) < maxKnownSubjects {
		r.hosts[host] = struct{}{}
	}
}

func (r *responders) heardOf(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, heard := r.hosts[host]
	return heard
}

// responderName is the queue that answers, or the instance when it does not say.
func responderName(response *wire.Response) string {
	if response.Queue != "" {
		return response.Queue
	}
	return response.FromID + "." + response.FromHost
}
