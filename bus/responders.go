package bus

import (
	"sync"

	"github.com/busline/busline/bus/wire"
)

// responders remembers who has answered what, so that a multicast can end when all have, instead of waiting for
// a silence. A responder is a queue: an instance, on an endpoint without one.
type responders struct {
	mu      sync.Mutex                     // protects all below
	known   map[string]map[string]struct{} // subject → queue names
	hosts   map[string]struct{}            // hosts that have answered this connection
	ended   map[string]string              // message id of a multicast that has ended → its subject
	ordered []string                       // the ids in ended, oldest first
}

// Bounds of what is remembered. Beyond them the oldest, or any, is forgotten, which costs a caller one wait.
const (
	maxKnownSubjects   = 4096
	maxEndedMulticasts = 4096
)

func newResponders() *responders {
	return &responders{
		known: make(map[string]map[string]struct{}),
		hosts: make(map[string]struct{}),
		ended: make(map[string]string),
	}
}

// of returns a copy of the responders known for a subject.
func (r *responders) of(subject string) map[string]struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make(map[string]struct{}, len(r.known[subject]))
	for name := range r.known[subject] {
		names[name] = struct{}{}
	}
	return names
}

// replace says who has answered a multicast that ended with the id.
func (r *responders) replace(subject, id string, names map[string]struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for forgotten := range r.known {
		if len(r.known) < maxKnownSubjects {
			break
		}
		delete(r.known, forgotten)
	}
	r.known[subject] = names
	if len(r.ordered) == maxEndedMulticasts {
		delete(r.ended, r.ordered[0])
		r.ordered = r.ordered[1:]
	}
	r.ended[id] = subject
	r.ordered = append(r.ordered, id)
}

// late learns from an ack that came after its multicast had ended.
func (r *responders) late(ack *wire.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if names := r.known[r.ended[ack.MsgID]]; names != nil {
		names[responderName(ack)] = struct{}{}
	}
}

// forget drops what is known of subjects, because instances came or went.
func (r *responders) forget(concerns func(subject string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
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
