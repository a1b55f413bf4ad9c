package bus

import (
	"slices"
	"sync"
	"time"

	"github.com/busline/busline/bus/wire"
)

// multicastSlot collects the acks and the responses of one multicast. An ack does not wake the caller. A slot serves one call
// after the other.
type multicastSlot struct {
	host  string // of those who may answer; "all" for an event, which any host may answer
	call  outgoing
	conn  *Conn
	known map[string]int // who answered the last time, and their places among members; not changed
	began time.Time
	ends  time.Time     // of the time budget
	news  chan struct{} // room for one: there is something to take, or all that have acked have answered

	timer *time.Timer // of the caller, as all of this paragraph
	set   time.Time   // what the timer is set to; zero when it does not run
	probe multicastProbe

	mu        sync.Mutex     // protects all below
	members   []member       // those who are known come first
	strangers map[string]int // the places of all others, by name
	acked     int            // of the members
	answered  int            // of them
	missing   int            // those known who have not answered
	inbox     []outcome
	taken     int // of the inbox
	lastAck   time.Time
	nobody    bool // the broker knows of no subscriber
	direct    bool // a single instance was addressed, and has acked
	doubts    bool // there may be others than those known
	sealed    bool // the call has ended

	haste
}

// member is a responder, as one call sees it.
type member struct {
	ack             peer // who has acked
	acked, answered bool
}

// expectAll says who has to answer before the call is complete.
func (s *multicastSlot) expectAll(before memory) {
	s.known, s.missing = before.names, len(before.names)
	for range before.names {
		s.members = append(s.members, member{})
	}
	s.hasty = before.hasty && s.conn.link.conn().ConnectedClusterName() == ""
}

func (s *multicastSlot) expects(response *wire.Response) bool { return cameFrom(response, s.host) }

// acknowledge takes an ack; false when it comes too late.
func (s *multicastSlot) acknowledge(ack *wire.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return false
	}
	if at := s.place(ack); at >= 0 {
		s.heard(at, ack)
	}
	return true
}

// place returns where the sender stands among the members; -1 when there are too many. A second instance that names a
// queue which another one has answered for stands for itself: it owes an answer, too. The lock is held.
func (s *multicastSlot) place(response *wire.Response) int {
	var room [128]byte
	name := appendResponderName(room[:0], response)
	at, met := s.find(name)
	if met && s.members[at].acked && s.members[at].ack != senderOf(response) {
		name = appendInstanceName(room[:0], response)
		at, met = s.find(name)
	}
	if met {
		return at
	}
	if len(s.strangers) >= maxResponders {
		return -1
	}
	if s.strangers == nil {
		s.strangers = make(map[string]int)
	}
	at = len(s.members)
	s.strangers[string(name)], s.members = at, append(s.members, member{})
	return at
}

// find returns the place of a name. The lock is held.
func (s *multicastSlot) find(name []byte) (at int, met bool) {
	if at, met = s.known[string(name)]; !met {
		at, met = s.strangers[string(name)]
	}
	return at, met
}

// heard notes that a member owes a response. The lock is held.
func (s *multicastSlot) heard(at int, response *wire.Response) {
	if from := &s.members[at]; !from.acked {
		from.acked, from.ack = true, senderOf(response)
		s.acked++
		s.lastAck = time.Now()
		s.direct = joins(s.host, response.FromID, response.FromHost)
	}
}

// respond keeps the first response of each responder, even without an ack before it.
func (s *multicastSlot) respond(response *wire.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return
	}
	at := s.place(response)
	if at < 0 || s.members[at].answered {
		return
	}
	s.heard(at, response)
	s.settle(at, outcome{response: response})
	s.wake()
}

func (*multicastSlot) spoilAck(error) {}

// spoil makes the error the outcome at the sender. If that is unknown, nothing changes.
func (s *multicastSlot) spoil(response *wire.Response, failed *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed || failed.Host == "" || failed.ID == "" {
		return
	}
	at := slices.IndexFunc(s.members, func(m member) bool { return m.owes() && m.ack == senderOf(response) })
	if at < 0 { // it has not acked; else its queue need not be known
		at = s.place(response)
	}
	if at < 0 || s.members[at].answered {
		return
	}
	s.heard(at, response)
	s.settle(at, outcome{failed: failed})
	s.wake()
}

// settle keeps the outcome of the call at a member. The lock is held.
func (s *multicastSlot) settle(at int, came outcome) {
	s.members[at].answered = true
	s.answered++
	if at < len(s.known) {
		s.missing--
	}
	s.inbox = append(s.inbox, came)
}

// lose notes that an instance that has acked is gone.
func (s *multicastSlot) lose(gone peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, each := range s.members {
		if each.owes() && each.ack == gone {
			s.settle(at, outcome{failed: instanceLost(gone, s.call.MsgID)})
		}
	}
}

func (m member) owes() bool { return m.acked && !m.answered }

// owing returns the instances that have acked and not answered.
func (s *multicastSlot) owing() []peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owed()
}

// owed is owing with the lock held.
func (s *multicastSlot) owed() (instances []peer) {
	for _, each := range s.members {
		if each.owes() {
			instances = append(instances, each.ack)
		}
	}
	return instances
}

func (s *multicastSlot) absent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nobody = true
	s.wake()
}

// denied believes that the broker has refused the request, unless somebody has acked it.
func (s *multicastSlot) denied(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if subject != s.call.subject || s.nobody || s.acked > 0 {
		return
	}
	failed := s.conn.forbidden(subject)
	failed.MsgID = s.call.MsgID
	s.nobody, s.inbox = true, append(s.inbox, outcome{failed: failed})
	s.wake()
}

func (s *multicastSlot) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}
