package bus

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// responderCache remembers who has answered which multicast, so that the next one can end when all have answered, instead of
// waiting for silence. A responder is a queue, or an instance if the endpoint has no queue.
type responderCache struct {
	plane      string
	membership *membership

	mu      sync.Mutex         // protects all below
	known   map[string]*roster // by subject
	hosts   map[string]*hostResponders
	begun   map[string]multicastCall // recent ones, by message id
	ordered []string                 // the ids in begun: a ring, once it is full
	oldest  int                      // of the ring
	patient bool                     // haste was wrong once: no call is hasty any more

	latest atomic.Pointer[string] // host that was heard: most answers come from the same one as the answer before

	unused sync.Pool // of *pendingMulticast
}

// roster is who has answered at a subject: queue names, numbered from 0.
type roster struct {
	host  *hostResponders // which has the subject, too
	names map[string]int
	lent  bool // a call uses the names: they must not be changed any more
}

// multicastCall is a multicast that was made.
type multicastCall struct {
	host, subject string
	hasty         bool // it ended before it had been quiet for long
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

func newResponderCache(plane string, census *membership) *responderCache {
	return &responderCache{
		plane: plane, membership: census,
		known: make(map[string]*roster),
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

// memory is what was known of a subject when a multicast to it began.
type memory struct {
	host      *hostResponders
	greetings int
	names     map[string]int // numbered from 0; not changed any more
	hasty     bool           // nothing speaks against haste
}

// begin returns what is known of a subject of a host, and remembers the id of the multicast for acks that come late.
func (r *responderCache) begin(host, subject, id string) memory {
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
	before := memory{host: r.hostLocked(host)}
	before.greetings = before.host.greetings
	if known := r.known[subject]; known != nil {
		known.lent = true
		before.names = known.names
	}
	before.hasty = len(before.names) == 0 && !r.patient
	return before
}

// conclude ends a call that has seen all responders, and learns who they are; false if an instance has turned up in the
// meantime. Whatever comes from then on is late.
func (r *responderCache) conclude(call *pendingMulticast, before memory) bool {
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
		r.replaceLocked(call.call.subject, before, names)
	}
	if there := call.presentInstances(); ended && len(there) > 0 {
		r.membership.reduce(r.plane, call.host, there)
	}
	return ended
}

// replaceLocked sets who has answered a multicast that ended. It keeps what was learnt from late acks since that began, and
// changes nothing if an instance has come or gone since.
func (r *responderCache) replaceLocked(subject string, before memory, names map[string]int) {
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
func (r *responderCache) late(ack *wire.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.membership.add(r.plane, senderOf(ack))
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

// areAll reports whether these are all the instances of a host that are known to be there. No instance has the host "all".
func (r *responderCache) areAll(host string, instances []peer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.patient && r.membership.covered(r.plane, host, instances)
}

// greeted notes that an instance came or went, and forgets what is known of the subjects of its host, and of "all".
func (r *responderCache) greeted(by peer, stays bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range []string{by.host, subject.HostAll} {
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

// membership lists the instances that are known to be there: those that acked the greeting of a connection of the link, which goes
// to every instance of its plane, and those that have greeted since. One that does not ack a multicast within a long silence is
// taken for dead, until it is heard again. Each takes eight bytes, as a process may meet thousands and call few; two with the
// same mark are taken for one.
//
// A full census forgets all instances of one host, and is unsure of a host that comes afterwards: it may be a forgotten one. The
// mark of the host itself, without an instance, stands for those that were forgotten, until a call has listened for them.
type membership struct {
	seed maphash.Seed

	mu      sync.Mutex // protects all below
	marks   []uint64   // sorted; the upper half stands for the plane and the host
	evicted bool       // hosts were forgotten
}

const maxCensus = 16 << 10

func newMembership() *membership { return &membership{seed: maphash.MakeSeed()} }

func (c *membership) mark(plane string, at peer) uint64 {
	return c.markHost(plane, at.host) | maphash.String(c.seed, at.id)>>32
}

func (c *membership) markHost(plane, host string) uint64 {
	return maphash.Comparable(c.seed, localHost{plane, host}) >> 32 << 32
}

func (c *membership) markAll(plane string, instances []peer) map[uint64]struct{} {
	marks := make(map[uint64]struct{}, len(instances))
	for _, each := range instances {
		marks[c.mark(plane, each)] = struct{}{}
	}
	return marks
}

func (c *membership) add(plane string, at peer) {
	host, mark := c.markHost(plane, at.host), c.mark(plane, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := slices.BinarySearch(c.marks, mark); known {
		return
	}
	c.makeRoomLocked(2, mark) //nolint:mnd // the host's and the instance's
	if first, last := c.sectionLocked(host); first == last && c.evicted {
		c.insertLocked(host)
	}
	c.insertLocked(mark)
}

func (c *membership) insertLocked(mark uint64) {
	if place, known := slices.BinarySearch(c.marks, mark); !known {
		c.marks = slices.Insert(c.marks, place, mark)
	}
}

// makeRoomLocked forgets hosts until there is room for so many marks. The hash of a mark chooses which hosts.
func (c *membership) makeRoomLocked(count int, chooses uint64) {
	for len(c.marks)+count > maxCensus {
		first, last := c.sectionLocked(c.marks[chooses<<32>>32%uint64(len(c.marks))] >> 32 << 32)
		c.marks = slices.Delete(c.marks, first, last)
		c.evicted = true
	}
}

func (c *membership) remove(plane string, at peer) {
	mark := c.mark(plane, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if place, known := slices.BinarySearch(c.marks, mark); known {
		c.marks = slices.Delete(c.marks, place, place+1)
	}
}

// covered reports whether the host has known instances, and all of them are among these.
func (c *membership) covered(plane, host string, by []peer) bool {
	seen := c.markAll(plane, by)
	c.mu.Lock()
	defer c.mu.Unlock()
	first, last := c.sectionLocked(c.markHost(plane, host))
	for _, mark := range c.marks[first:last] {
		if _, ok := seen[mark]; !ok {
			return false
		}
	}
	return first < last
}

// reduce forgets the instances of the host that are not among these. A host of which the census is unsure has these.
func (c *membership) reduce(plane, host string, to []peer) {
	seen := c.markAll(plane, to)
	c.mu.Lock()
	defer c.mu.Unlock()
	section := c.markHost(plane, host)
	first, last := c.sectionLocked(section)
	unsure := c.evicted && (first == last || c.marks[first] == section)
	rest := slices.DeleteFunc(c.marks[first:last], func(mark uint64) bool {
		_, ok := seen[mark]
		return !ok
	})
	c.marks = slices.Delete(c.marks, first+len(rest), last)
	if !unsure {
		return
	}
	c.makeRoomLocked(len(to), section>>32)
	for _, each := range to {
		if each.host == host { // else an instance of its own, or the host "all", was called
			c.insertLocked(c.mark(plane, each))
		}
	}
}

// sectionLocked returns where the marks of a host begin and end.
func (c *membership) sectionLocked(host uint64) (first, last int) {
	sameHost := func(mark, host uint64) int { return cmp.Compare(mark>>32<<32, host) }
	first, _ = slices.BinarySearchFunc(c.marks, host, sameHost)
	last = first
	for last < len(c.marks) && c.marks[last]>>32<<32 == host {
		last++
	}
	return first, last
}
