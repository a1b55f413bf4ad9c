package bus

import (
	"maps"
	"sync"

	"github.com/busline/busline/bus/wire"
)

// responders remembers who has answered what, so that a multicast can end when all have, instead of waiting for
// a silence. A responder is a queue: an instance, on an endpoint without one.
type responders struct {
	mu      sync.Mutex                     // protects all below
	known   map[string]map[string]struct{} // subject → queue names
	hosts   map[string]*acquaintance
	begun   map[string]multicastCall // recent ones, by message id
	ordered []string                 // the ids in begun, oldest first
}

// multicastCall is where a multicast went.
type multicastCall struct{ host, subject string }

// acquaintance is a host that has answered this connection, or greeted it.
type acquaintance struct {
	answered  bool
	greetings int
	subjects  map[string]struct{} // of the host, in known
}

// Bounds of what is remembered. Beyond them the oldest, or any, is forgotten, which costs a caller one wait.
const (
	maxKnownSubjects = 4096
	maxKnownHosts    = 4096
	maxMulticasts    = 4096
	maxResponders    = 4096 // of one subject
)

func newResponders() *responders {
	return &responders{
		known: make(map[string]map[string]struct{}),
		hosts: make(map[string]*acquaintance),
		begun: make(map[string]multicastCall),
	}
}

// host returns what is known of a host, noted down when it is new. The lock is held.
func (r *responders) host(name string) *acquaintance {
	if r.hosts[name] == nil {
		for other, known := range r.hosts {
			if len(r.hosts) < maxKnownHosts {
				break
			}
			r.forgetSubjects(known)
			delete(r.hosts, other)
		}
		r.hosts[name] = &acquaintance{subjects: make(map[string]struct{})}
	}
	return r.hosts[name]
}

// memory is what was known of a subject when a multicast to it began.
type memory struct {
	host      *acquaintance
	greetings int
	names     map[string]struct{}
}

// begin returns what is known of a subject of a host, and remembers the id of a multicast to it for acks that come
// late.
func (r *responders) begin(host, subject, id string) memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ordered) == maxMulticasts {
		delete(r.begun, r.ordered[0])
		r.ordered = r.ordered[1:]
	}
	r.begun[id] = multicastCall{host, subject}
	r.ordered = append(r.ordered, id)
	known := r.host(host)
	return memory{host: known, greetings: known.greetings, names: maps.Clone(r.known[subject])}
}

// learn says who has answered a multicast that ended. It leaves alone what was learnt from late acks since it began,
// and learns nothing when somebody has come or gone since.
func (r *responders) learn(subject string, before memory, names map[string]struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before.host.greetings != before.greetings {
		return
	}
	for other := range r.known {
		if len(r.known) < maxKnownSubjects {
			break
		}
		delete(r.known, other)
	}
	for late := range r.known[subject] {
		if _, old := before.names[late]; !old {
			names[late] = struct{}{}
		}
	}
	r.known[subject] = names
	before.host.subjects[subject] = struct{}{}
}

// late learns from an ack that came after its multicast had ended.
func (r *responders) late(ack *wire.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	call := r.begun[ack.MsgID]
	if names := r.known[call.subject]; names != nil && len(names) < maxResponders && cameFrom(ack, call.host) {
		names[responderName(ack)] = struct{}{}
	}
}

// forget drops what is known of a host's subjects, and of those of "all", because an instance of it came or went.
func (r *responders) forget(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range []string{host, hostAll} {
		r.forgetSubjects(r.host(name))
	}
}

func (r *responders) forgetSubjects(known *acquaintance) {
	for subject := range known.subjects {
		delete(r.known, subject)
	}
	clear(known.subjects)
	known.greetings++
}

// heard remembers that a host has answered.
func (r *responders) heard(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.host(host).answered = true
}

func (r *responders) heardOf(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hosts[host] != nil && r.hosts[host].answered
}

// responderName is the queue that answers: the host, or else the instance, whatever it says.
func responderName(response *wire.Response) string {
	if response.Queue == response.FromHost {
		return response.FromHost
	}
	return response.FromID + "." + response.FromHost
}
