package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// pendingMulticast collects the acks and the responses of one multicast. An ack does not wake the caller. A slot serves one call
// after the other.
type pendingMulticast struct {
	host   string // of those who may answer; "all" for an event, which any host may answer
	call   Outgoing
	client *Client
	known  map[string]int // who answered the last time, and their places among members; not changed
	began  time.Time
	ends   time.Time     // of the time budget
	news   chan struct{} // room for one: there is something to take, or all that have acked have answered

	timer *time.Timer // of the caller, as all of this paragraph
	set   time.Time   // what the timer is set to; zero when it does not run
	probe multicastProbe

	mu           sync.Mutex     // protects all below
	members      []member       // those who are known come first
	unexpected   map[string]int // the places of all others, by name
	acked        int            // of the members
	answered     int            // of them
	missing      int            // those known who have not answered
	inbox        []outcome
	taken        int // of the inbox
	lastAck      time.Time
	noSubscriber bool // the broker knows of no subscriber
	direct       bool // a single instance was addressed, and has acked
	doubts       bool // there may be others than those known
	ended        bool // the call has ended

	earlyEnd
}

// member is a responder, as one call sees it.
type member struct {
	ack             Peer // who has acked
	acked, answered bool
}

// expectAll says who has to answer before the call is complete.
func (s *pendingMulticast) expectAll(before knowledge) {
	s.known, s.missing = before.names, len(before.names)
	for range before.names {
		s.members = append(s.members, member{})
	}
	s.endsEarly = before.endsEarly && !s.client.broker.IsClustered()
}

func (s *pendingMulticast) expects(response *wire.Response) bool { return cameFrom(response, s.host) }

// acknowledge takes an ack; false when it comes too late.
func (s *pendingMulticast) acknowledge(ack *wire.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	if at := s.indexLocked(ack); at >= 0 {
		s.noteAckLocked(at, ack)
	}
	return true
}

// indexLocked returns where the sender stands among the members; -1 when there are too many. A second instance that names a queue
// which another one has answered for stands for itself: it owes an answer, too.
func (s *pendingMulticast) indexLocked(response *wire.Response) int {
	var room [128]byte
	name := appendResponderName(room[:0], response)
	at, met := s.findLocked(name)
	if met && s.members[at].acked && s.members[at].ack != SenderOf(response) {
		name = appendInstanceName(room[:0], response)
		at, met = s.findLocked(name)
	}
	if met {
		return at
	}
	if len(s.unexpected) >= maxResponders {
		return -1
	}
	if s.unexpected == nil {
		s.unexpected = make(map[string]int)
	}
	at = len(s.members)
	s.unexpected[string(name)], s.members = at, append(s.members, member{})
	return at
}

// findLocked returns the place of a name.
func (s *pendingMulticast) findLocked(name []byte) (at int, met bool) {
	if at, met = s.known[string(name)]; !met {
		at, met = s.unexpected[string(name)]
	}
	return at, met
}

// noteAckLocked notes that a member owes a response.
func (s *pendingMulticast) noteAckLocked(at int, response *wire.Response) {
	if from := &s.members[at]; !from.acked {
		from.acked, from.ack = true, SenderOf(response)
		s.acked++
		s.lastAck = time.Now()
		s.direct = subject.Joins(s.host, response.FromID, response.FromHost)
	}
}

// respond keeps the first response of each responder, even without an ack before it.
func (s *pendingMulticast) respond(response *wire.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	at := s.indexLocked(response)
	if at < 0 || s.members[at].answered {
		return
	}
	s.noteAckLocked(at, response)
	s.addOutcomeLocked(at, outcome{response: response})
	s.wake()
}

func (*pendingMulticast) noteMalformedAck(error) {}

// noteMalformed makes the error the outcome at the sender. If that is unknown, nothing changes.
func (s *pendingMulticast) noteMalformed(response *wire.Response, failed *status.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || failed.Host == "" || failed.ID == "" {
		return
	}
	at := slices.IndexFunc(s.members, func(m member) bool { return m.isUnanswered() && m.ack == SenderOf(response) })
	if at < 0 { // it has not acked; else its queue need not be known
		at = s.indexLocked(response)
	}
	if at < 0 || s.members[at].answered {
		return
	}
	s.noteAckLocked(at, response)
	s.addOutcomeLocked(at, outcome{failed: failed})
	s.wake()
}

// addOutcomeLocked keeps the outcome of the call at a member.
func (s *pendingMulticast) addOutcomeLocked(at int, came outcome) {
	s.members[at].answered = true
	s.answered++
	if at < len(s.known) {
		s.missing--
	}
	s.inbox = append(s.inbox, came)
}

// lose notes that an instance that has acked is gone.
func (s *pendingMulticast) lose(gone Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, each := range s.members {
		if each.isUnanswered() && each.ack == gone {
			s.addOutcomeLocked(at, outcome{failed: instanceLost(gone, s.call.MsgID)})
		}
	}
}

func (m member) isUnanswered() bool { return m.acked && !m.answered }

// unanswered returns the instances that have acked and not answered.
func (s *pendingMulticast) unanswered() []Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unansweredLocked()
}

// owed is owing with the lock held.
func (s *pendingMulticast) unansweredLocked() (instances []Peer) {
	for _, each := range s.members {
		if each.isUnanswered() {
			instances = append(instances, each.ack)
		}
	}
	return instances
}

func (s *pendingMulticast) noResponders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noSubscriber = true
	s.wake()
}

// denied confirmQuiet that the broker has refused the request, unless an instance has acked it.
func (s *pendingMulticast) denied(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if subject != s.call.Subject || s.noSubscriber || s.acked > 0 {
		return
	}
	failed := s.client.broker.Forbidden(subject)
	failed.MsgID = s.call.MsgID
	s.noSubscriber, s.inbox = true, append(s.inbox, outcome{failed: failed})
	s.wake()
}

func (s *pendingMulticast) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// multicastProbe is to a multicast what unicastProbe is to a unicast call: it asks whether the instances that owe an
// answer are still there. All its methods are called only by the caller.
type multicastProbe struct {
	client *Client
	call   *pendingMulticast
	due    time.Time // of the next round
	outage <-chan struct{}
	*probe // nil before the first question
}

// round asks when it is due.
func (p *multicastProbe) round() {
	if time.Until(p.due) > 0 {
		return
	}
	if owing := p.call.unanswered(); len(owing) > 0 {
		if p.probe == nil {
			p.probe = p.client.newProbe()
		}
		p.ask(owing)
	}
	p.due = time.Now().Add(probeInterval)
}

// review looks at the broker's answers: an instance that is lost becomes an outcome, and one that may be is asked again
// soon.
func (p *multicastProbe) review() {
	lost, suspects := p.probe.review()
	for _, instance := range lost {
		p.call.lose(instance)
	}
	if suspects {
		p.due = time.Now().Add(probeAgain)
	}
}

// A caller that has called an address before knows who will answer. One that calls it for the first time, or misses an instance
// it knows, listens until it has been quiet for a while: see docs/decisions/0011.
const (
	// multicastQuiet is how long after an ack no new one must have come before a caller concludes that all instances have acked.
	multicastQuiet = 250 * time.Millisecond

	// earliestQuiet is the shortest time that is enough if nothing speaks for more.
	earliestQuiet = 12 * time.Millisecond

	// quietFactor times as long as the slowest ack took, a endsEarly caller listens for another one.
	quietFactor = 8
)

// earlyEnd lets a first call end before it has been quiet for [multicastQuiet]. The lock of the slot protects it.
type earlyEnd struct {
	endsEarly bool
	lag       time.Duration // by how much this process, or the broker, was late when the caller looked at the clock
	long      bool          // it has been quiet for [multicastQuiet], and everything that came until then has been looked at
}

// quietPeriodLocked is how long no new ack must have come. As long as there is none at all, it is what a unicast call waits: the
// broker would have said so if no instance had got the request.
func (s *pendingMulticast) quietPeriodLocked() time.Duration {
	if s.acked == 0 {
		return max(multicastQuiet, s.client.config.AckWait)
	}
	if !s.endsEarly {
		return multicastQuiet
	}
	slowest := max(s.lastAck.Sub(s.began), s.lag)
	return min(max(earliestQuiet, quietFactor*slowest), multicastQuiet)
}

// quietFrom is when it will have been quiet for long enough, unless something comes.
func (s *pendingMulticast) quietFrom() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastAck.Add(s.quietPeriodLocked())
}

// confirmQuiet finds out whether it has really been quiet, or this process or the broker was slow; false if the call has to be
// looked at again.
func (s *pendingMulticast) confirmQuiet(ctx context.Context) bool {
	due := s.quietFrom()
	caughtUp := s.catchUp(ctx)
	trusted := caughtUp && s.client.responders.areAll(s.host, s.instances())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endsEarly = s.endsEarly && trusted
	s.lag = max(s.lag, time.Since(due))
	quiet := !time.Now().Before(s.lastAck.Add(s.quietPeriodLocked()))
	s.long = quiet && caughtUp && !s.endsEarly
	return quiet
}

// catchUp returns when everything that had reached the broker has been looked at; false if that takes too long.
func (s *pendingMulticast) catchUp(ctx context.Context) bool {
	ctx, cancel := context.WithDeadline(ctx, earlier(s.ends, time.Now().Add(multicastQuiet)))
	defer cancel()
	if s.client.broker.Flush(ctx) != nil {
		return false
	}
	s.client.broker.Barrier(ctx)
	return ctx.Err() == nil
}

// presentInstances returns the instances of the host that seem to be there; nil if the call has not listened for long, or cannot
// tell, as one instance acks for a queue.
func (s *pendingMulticast) presentInstances() []Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, queued := s.findLocked([]byte(s.host)); queued || !s.long {
		return nil
	}
	return s.instancesLocked()
}

// instances returns who has acked.
func (s *pendingMulticast) instances() []Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instancesLocked()
}

// heardFrom is instances with the lock held.
func (s *pendingMulticast) instancesLocked() (acked []Peer) {
	for _, each := range s.members {
		if each.acked {
			acked = append(acked, each.ack)
		}
	}
	return acked
}
