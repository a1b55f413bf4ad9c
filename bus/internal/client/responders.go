package client

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// responderCache holds the responders of earlier multicasts, so that the next multicast to the same subject can end
// without a quiet period. A responder is a queue, or an instance if the endpoint has no queue.
type responderCache struct {
	plane      string
	membership *Membership

	mu      sync.Mutex               // protects all below
	known   map[string]*responderSet // by subject
	hosts   map[string]*hostResponders
	begun   map[string]multicastCall // recent multicasts, by message id
	ordered []string                 // the message ids in begun; a ring once it is full
	oldest  int                      // index of the oldest id in the ring
	patient bool                     // an early end has missed a responder: no call ends early any more

	// the host of the latest answer, as most answers come from the same host as the answer before
	latest atomic.Pointer[string]

	unused sync.Pool // of *pendingMulticast
}

// responderSet is the set of responders of a subject.
type responderSet struct {
	host   *hostResponders // has the subject in its subjects
	names  map[string]int  // numbered from 0
	shared bool            // a call reads names, so that they must not change
}

// multicastCall is a recent multicast.
type multicastCall struct {
	host, subject string
	endsEarly     bool // its quiet period may have been shorter than [multicastQuiet]
}

// hostResponders is a host that was called by multicast, or that has answered a call.
type hostResponders struct {
	name      string // set once it has answered
	answered  bool
	greetings int                 // how often an instance has come or gone
	subjects  map[string]struct{} // keys of known
}

// Bounds of the cache. At a bound the oldest entry, or any, gives way, which costs a later multicast one quiet period.
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

// hostLocked returns the entry of a host, and adds it if it is new.
func (r *responderCache) hostLocked(name string) *hostResponders {
	if r.hosts[name] == nil {
		for other, known := range r.hosts {
			if len(r.hosts) < maxKnownHosts {
				break
			}
			r.forgetSubjects(known)
			delete(r.hosts, other)
			r.latest.Store(nil) // it may point into the entry
		}
		r.hosts[name] = &hostResponders{subjects: make(map[string]struct{})}
	}
	return r.hosts[name]
}

// knowledge is the state of the cache for a subject at the beginning of a multicast.
type knowledge struct {
	host      *hostResponders
	greetings int
	names     map[string]int // numbered from 0; read only
	endsEarly bool           // the call may end early
}

// begin returns the knowledge of a subject of a host, and keeps the message id of the multicast for late acks.
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
		known.shared = true
		before.names = known.names
	}
	before.endsEarly = len(before.names) == 0 && !r.patient
	return before
}

// conclude ends a call with all answers, and keeps its responders. It returns false, and the call continues, if an
// instance has come or gone or an ack has come in the meantime. All later acks are late.
func (r *responderCache) conclude(call *pendingMulticast, before knowledge) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before.host.greetings != before.greetings && call.noteUnknownResponders() {
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
	// What an instance answers of the framework's own questions says nothing of the others: foreign ones may leave them
	// out.
	if there := call.presentInstances(); ended && len(there) > 0 && call.call.Address.Port != subject.ControlPort {
		r.membership.reduce(r.plane, call.host, there)
	}
	return ended
}

// replaceLocked sets the responders of a subject after a multicast. It keeps those that late acks have added since the
// multicast began, and changes nothing if an instance has come or gone since.
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

// late adds the sender of a late ack to the responders of the multicast's subject.
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
	if known.shared {
		known.names, known.shared = maps.Clone(known.names), false
	}
	enlist(known.names, name)
}

// areAll reports whether instances has all known instances of a host. The host "all" has no known instances.
func (r *responderCache) areAll(host string, instances []Peer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.patient && r.membership.covered(r.plane, host, instances)
}

// greeted notes that an instance has come or, if stays is false, has gone, and forgets the responders of its host and
// of the host "all".
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

// forgetAll forgets all instances and all responders, so that the next multicasts look for them.
func (r *responderCache) forgetAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.hosts {
		r.forgetSubjects(known)
	}
	r.membership.clear()
}

// forgetSubjects removes the responders of all subjects of a host.
func (r *responderCache) forgetSubjects(known *hostResponders) {
	for subject := range known.subjects {
		delete(r.known, subject)
	}
	clear(known.subjects)
	known.greetings++
}

// noteAnswer records that a host has answered.
func (r *responderCache) noteAnswer(host string) {
	if latest := r.latest.Load(); latest != nil && *latest == host {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.hostLocked(host)
	if !known.answered {
		known.name, known.answered = host, true // set once, as latest lets other goroutines read name without the lock
	}
	r.latest.Store(&known.name)
}

// heardOf reports whether a host has answered.
func (r *responderCache) heardOf(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hosts[host] != nil && r.hosts[host].answered
}

// appendResponderName appends the name of the responder: the queue if it is the queue of the host, else the instance.
func appendResponderName(to []byte, response *wire.Response) []byte {
	if response.Queue != response.FromHost {
		return appendInstanceName(to, response)
	}
	return append(to, response.FromHost...)
}

func appendInstanceName(to []byte, response *wire.Response) []byte {
	return append(append(append(to, response.FromID...), '.'), response.FromHost...)
}
