package client

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// responderCache remembers who has answered which multicast, so that the next one can end when all have answered, instead of
// waiting for silence. A responder is a queue, or an instance if the endpoint has no queue.
type responderCache struct {
	plane      string
	membership *Membership

	mu      sync.Mutex               // protects all below
	known   map[string]*responderSet // by subject
	hosts   map[string]*hostResponders
	begun   map[string]multicastCall // recent ones, by message id
	ordered []string                 // the ids in begun: a ring, once it is full
	oldest  int                      // of the ring
	patient bool                     // an early end was wrong once: no call ends early any more

	latest atomic.Pointer[string] // host that was heard: most answers come from the same one as the answer before

	unused sync.Pool // of *pendingMulticast
}

// responderSet is who has answered at a subject: queue names, numbered from 0.
type responderSet struct {
	host  *hostResponders // which has the subject, too
	names map[string]int
	lent  bool // a call uses the names: they must not be changed any more
}

// multicastCall is a multicast that was made.
type multicastCall struct {
	host, subject string
	endsEarly     bool // it ended before it had been quiet for long
}

// hostResponders is a host that has answered this connection, or greeted it.
type hostResponders struct {
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

func newResponderCache(plane string, membership *Membership) *responderCache {
	return &responderCache{
		plane: plane, membership: membership,
		known: make(map[string]*responderSet),
		hosts: make(map[string]*hostResponders),
		begun: make(map[string]multicastCall),
	}
}

// hostLocked returns what is known of a host, and adds it if it is new.
func (r *responderCache) hostLocked(name string) *hostResponders {
	if r.hosts[name] == nil {
		for other, known := range r.hosts {
			if len(r.hosts) < maxKnownHosts {
				break
			}
			r.forgetSubjects(known)
			delete(r.hosts, other)
			r.latest.Store(nil) // it may be that one
		}
		r.hosts[name] = &hostResponders{subjects: make(map[string]struct{})}
	}
	return r.hosts[name]
}

// knowledge is what was known of a subject when a multicast to it began.
type knowledge struct {
	host      *hostResponders
	greetings int
	names     map[string]int // numbered from 0; not changed any more
	endsEarly bool           // nothing speaks against an early end
}

// begin returns what is known of a subject of a host, and remembers the id of the multicast for acks that come late.
func (r *responderCache) begin(host, subject, id string) knowledge {
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
	before := knowledge{host: r.hostLocked(host)}
	before.greetings = before.host.greetings
	if known := r.known[subject]; known != nil {
		known.lent = true
		before.names = known.names
	}
	before.endsEarly = len(before.names) == 0 && !r.patient
	return before
}

// conclude ends a call that has seen all responders, and learns who they are; false if an instance has turned up in the
// meantime. Whatever comes from then on is late.
func (r *responderCache) conclude(call *pendingMulticast, before knowledge) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before.host.greetings != before.greetings && call.doubt() {
		return false
	}
	names, endsEarly, ended := call.end()
	if begun, remembered := r.begun[call.call.MsgID]; remembered && endsEarly {
		begun.endsEarly = true
		r.begun[call.call.MsgID] = begun
	}
	if names != nil {
		r.replaceLocked(call.call.Subject, before, names)
	}
	if there := call.presentInstances(); ended && len(there) > 0 {
		r.membership.reduce(r.plane, call.host, there)
	}
	return ended
}

// replaceLocked sets who has answered a multicast that ended. It keeps what was learnt from late acks since that began, and
// changes nothing if an instance has come or gone since.
func (r *responderCache) replaceLocked(subject string, before knowledge, names map[string]int) {
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
	r.known[subject] = &responderSet{host: before.host, names: names}
	before.host.subjects[subject] = struct{}{}
}

// enlist gives a name the next number.
func enlist(names map[string]int, name string) {
	if _, known := names[name]; !known {
		names[name] = len(names)
	}
}

// late learns from an ack that came after its multicast had ended, and from the acks of a greeting.
func (r *responderCache) late(ack *wire.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.membership.add(r.plane, SenderOf(ack))
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
	if call.endsEarly {
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

// areAll reports whether these are all the instances of a host that are known to be there. No instance has the host "all".
func (r *responderCache) areAll(host string, instances []Peer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.patient && r.membership.covered(r.plane, host, instances)
}

// greeted notes that an instance came or went, and forgets what is known of the subjects of its host, and of "all".
func (r *responderCache) greeted(by Peer, stays bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range []string{by.Host, subject.HostAll} {
		if known := r.hosts[name]; known != nil {
			r.forgetSubjects(known)
		}
	}
	if !stays {
		r.membership.remove(r.plane, by)
	} else {
		r.membership.add(r.plane, by)
	}
}

func (r *responderCache) forgetSubjects(known *hostResponders) {
	for subject := range known.subjects {
		delete(r.known, subject)
	}
	clear(known.subjects)
	known.greetings++
}

// heard remembers that a host has answered.
func (r *responderCache) heard(host string) {
	if latest := r.latest.Load(); latest != nil && *latest == host {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.hostLocked(host)
	if !known.answered {
		known.name, known.answered = host, true // once: others read the name without the lock
	}
	r.latest.Store(&known.name)
}

func (r *responderCache) heardOf(host string) bool {
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
