package bus

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/busline/busline/bus/wire"
)

// responders remembers who has answered which multicast, so that the next one can end when all have answered, instead of
// waiting for silence. A responder is a queue, or an instance if the endpoint has no queue.
type responders struct {
	plane  string
	census *census

	mu      sync.Mutex         // protects all below
	known   map[string]*roster // by subject
	hosts   map[string]*acquaintance
	begun   map[string]multicastCall // recent ones, by message id
	ordered []string                 // the ids in begun: a ring, once it is full
	oldest  int                      // of the ring
	patient bool                     // haste was wrong once: no call is hasty any more

	latest atomic.Pointer[string] // host that was heard: most answers come from the same one as the answer before

	unused sync.Pool // of *multicastSlot
}

// roster is who has answered at a subject: queue names, numbered from 0.
type roster struct {
	host  *acquaintance // which has the subject, too
	names map[string]int
	lent  bool // a call uses the names: they must not be changed any more
}

// multicastCall is a multicast that was made.
type multicastCall struct {
	host, subject string
	hasty         bool // it ended before it had been quiet for long
}

// acquaintance is a host that has answered this connection, or greeted it.
type acquaintance struct {
	name      string // once it has answered
	answered  bool
	greetings int
	subjects  map[string]struct{} // of the host, in known
}

// Bounds of what is remembered. Beyond them the oldest entry, or any, is forgotten, which costs a caller one wait.
const (
	maxKnownSubjects = 4096
	maxKnownHosts    = 4096
	maxMulticasts    = 4096
	maxResponders    = 4096 // of one subject
)

func newResponders(plane string, census *census) *responders {
	return &responders{
		plane: plane, census: census,
		known: make(map[string]*roster),
		hosts: make(map[string]*acquaintance),
		begun: make(map[string]multicastCall),
	}
}

// host returns what is known of a host, and adds it if it is new. The lock is held.
func (r *responders) host(name string) *acquaintance {
	if r.hosts[name] == nil {
		for other, known := range r.hosts {
			if len(r.hosts) < maxKnownHosts {
				break
			}
			r.forgetSubjects(known)
			delete(r.hosts, other)
			r.latest.Store(nil) // it may be that one
		}
		r.hosts[name] = &acquaintance{subjects: make(map[string]struct{})}
	}
	return r.hosts[name]
}

// memory is what was known of a subject when a multicast to it began.
type memory struct {
	host      *acquaintance
	greetings int
	names     map[string]int // numbered from 0; not changed any more
	hasty     bool           // nothing speaks against haste
}

// begin returns what is known of a subject of a host, and remembers the id of the multicast for acks that come late.
func (r *responders) begin(host, subject, id string) memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun[id] = multicastCall{host: host, subject: subject}
	if len(r.ordered) < maxMulticasts {
		r.ordered = append(r.ordered, id)
	} else {
		delete(r.begun, r.ordered[r.oldest])
		r.ordered[r.oldest] = id
		r.oldest = (r.oldest + 1) % maxMulticasts
	}
	before := memory{host: r.host(host)}
	before.greetings = before.host.greetings
	if known := r.known[subject]; known != nil {
		known.lent = true
		before.names = known.names
	}
	before.hasty = len(before.names) == 0 && !r.patient
	return before
}

// conclude ends a call that has seen all responders, and learns who they are; false if somebody has turned up in the
// meantime. Whatever comes from then on is late.
func (r *responders) conclude(call *multicastSlot, before memory) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before.host.greetings != before.greetings && call.doubt() {
		return false
	}
	names, hasty, ended := call.seal()
	if begun, remembered := r.begun[call.call.MsgID]; remembered && hasty {
		begun.hasty = true
		r.begun[call.call.MsgID] = begun
	}
	if names != nil {
		r.replace(call.call.subject, before, names)
	}
	if there := call.everybody(); ended && len(there) > 0 {
		r.census.reduce(r.plane, call.host, there)
	}
	return ended
}

// replace sets who has answered a multicast that ended. It keeps what was learnt from late acks since that began, and changes
// nothing if somebody has come or gone since. The lock is held.
func (r *responders) replace(subject string, before memory, names map[string]int) {
	if before.host.greetings != before.greetings {
		return
	}
	for other, known := range r.known {
		if len(r.known) < maxKnownSubjects {
			break
		}
		delete(known.host.subjects, other)
		delete(r.known, other)
	}
	if now := r.known[subject]; now != nil {
		for late := range now.names {
			if _, old := before.names[late]; !old {
				enlist(names, late)
			}
		}
	}
	r.known[subject] = &roster{host: before.host, names: names}
	before.host.subjects[subject] = struct{}{}
}

// enlist gives a name the next number.
func enlist(names map[string]int, name string) {
	if _, known := names[name]; !known {
		names[name] = len(names)
	}
}

// late learns from an ack that came after its multicast had ended, and from the acks of a greeting.
func (r *responders) late(ack *wire.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.census.add(r.plane, senderOf(ack))
	call := r.begun[ack.MsgID]
	if !cameFrom(ack, call.host) {
		return
	}
	name := string(appendResponderName(nil, ack))
	known := r.known[call.subject]
	if known != nil {
		if _, expected := known.names[name]; expected {
			return
		}
	}
	if call.hasty {
		r.patient = true
	}
	if known == nil || len(known.names) >= maxResponders {
		return
	}
	if known.lent {
		known.names, known.lent = maps.Clone(known.names), false
	}
	enlist(known.names, name)
}

// areAll says whether these are all the instances of a host that are known to be there. No instance has the host "all".
func (r *responders) areAll(host string, instances []peer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.patient && r.census.covered(r.plane, host, instances)
}

// greeted notes that an instance came or went, and forgets what is known of the subjects of its host, and of "all".
func (r *responders) greeted(by peer, stays bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range []string{by.host, hostAll} {
		if known := r.hosts[name]; known != nil {
			r.forgetSubjects(known)
		}
	}
	if !stays {
		r.census.remove(r.plane, by)
	} else {
		r.census.add(r.plane, by)
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
	if latest := r.latest.Load(); latest != nil && *latest == host {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.host(host)
	if !known.answered {
		known.name, known.answered = host, true // once: others read the name without the lock
	}
	r.latest.Store(&known.name)
}

func (r *responders) heardOf(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hosts[host] != nil && r.hosts[host].answered
}

// appendResponderName appends the queue that answers if it is the host's; otherwise the instance, whatever queue it names.
func appendResponderName(to []byte, response *wire.Response) []byte {
	if response.Queue != response.FromHost {
		return appendInstanceName(to, response)
	}
	return append(to, response.FromHost...)
}

func appendInstanceName(to []byte, response *wire.Response) []byte {
	return append(append(append(to, response.FromID...), '.'), response.FromHost...)
}
