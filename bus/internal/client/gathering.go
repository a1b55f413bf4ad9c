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

// pendingMulticast is the slot of a multicast. It collects acks and responses. An ack does not wake the caller. A
// pendingMulticast is reused for later calls.
type pendingMulticast struct {
	host   string // the host that may answer; "all" for an event, which any host may answer
	call   Outgoing
	client *Client
	known  map[string]int // responders of the multicast before, and their indexes in members; read only
	began  time.Time
	ends   time.Time     // the end of the time budget
	news   chan struct{} // buffer of one; a value wakes the caller, who looks at the state

	timer *time.Timer // used by the caller alone, as set and probe are
	set   time.Time   // the time the timer is set to; zero for a stopped timer
	probe multicastProbe

	mu                sync.Mutex     // protects all below
	members           []member       // the known responders come first
	unexpected        map[string]int // indexes of all other members, by name
	acked             int            // members that have acked
	answered          int            // members with an outcome
	missing           int            // known responders without an outcome
	inbox             []outcome
	delivered         int // outcomes of the inbox that the caller has taken
	lastAck           time.Time
	noSubscriber      bool            // no instance subscribes, or the broker denies the subject
	direct            bool            // a single instance was addressed, and has acked
	unknownResponders bool            // there may be unknown responders
	ended             bool            // the call has ended
	anonymous         []*status.Error // errors of malformed responses whose sender is illegible, and was not found out yet

	earlyEnd
}

// member is a responder, as one call sees it.
type member struct {
	ack             Peer // the instance that has acked
	acked, answered bool
}

// expectAll sets the known responders, which have to answer before the call is complete.
func (s *pendingMulticast) expectAll(before knowledge) {
	s.known, s.missing = before.names, len(before.names)
	for range before.names {
		s.members = append(s.members, member{})
	}
	s.endsEarly = before.endsEarly && !s.client.broker.IsClustered()
}

func (s *pendingMulticast) expects(response *wire.Response) bool { return cameFrom(response, s.host) }

// acknowledge takes an ack, and reports whether the call was still open.
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

// indexLocked returns the index of the sender in members, and adds the sender if it is new; -1 if there are too many
// members. The first instance that acks for a queue is the member of the queue; a second one is a member of its own,
// and has to answer, too.
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

// findLocked returns the index of a name in members.
func (s *pendingMulticast) findLocked(name []byte) (at int, met bool) {
	if at, met = s.known[string(name)]; !met {
		at, met = s.unexpected[string(name)]
	}
	return at, met
}

// noteAckLocked notes that a member has acked, so that its response is awaited.
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

// noteMalformed makes the error the outcome at the sender. An error without a sender waits until the sender is found
// out.
func (s *pendingMulticast) noteMalformed(response *wire.Response, failed *status.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if failed.Host == "" || failed.ID == "" {
		if len(s.anonymous) < maxResponders {
			s.anonymous = append(s.anonymous, failed)
		}
		s.wake()
		return
	}
	at := slices.IndexFunc(s.members, func(m member) bool { return m.isUnanswered() && m.ack == SenderOf(response) })
	if at < 0 { // it has not acked; after an ack the index does not depend on the queue, which may be illegible
		at = s.indexLocked(response)
	}
	if at < 0 || s.members[at].answered {
		return
	}
	s.noteAckLocked(at, response)
	s.addOutcomeLocked(at, outcome{failed: failed})
	s.wake()
}

// attributeLocked makes the errors without a sender the outcomes at the members that have acked and not answered, once
// there are no more of these than such errors: each of them has sent one, and sends nothing else.
func (s *pendingMulticast) attributeLocked() {
	open := s.acked - s.answered
	if open == 0 || open > len(s.anonymous) {
		return
	}
	for at, each := range s.members {
		if !each.isUnanswered() {
			continue
		}
		failed := s.anonymous[0]
		s.anonymous = s.anonymous[1:]
		failed.Host, failed.ID = each.ack.Host, each.ack.ID
		s.addOutcomeLocked(at, outcome{failed: failed})
	}
}

// addOutcomeLocked adds the outcome of the call at a member to the inbox.
func (s *pendingMulticast) addOutcomeLocked(at int, came outcome) {
	s.members[at].answered = true
	s.answered++
	if at < len(s.known) {
		s.missing--
	}
	s.inbox = append(s.inbox, came)
}

// lose ends the call at an instance that has acked and is gone.
func (s *pendingMulticast) lose(gone Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, each := range s.members {
		if each.isUnanswered() && each.ack == gone {
			s.addOutcomeLocked(at, outcome{failed: instanceLost(gone, s.call.MsgID)})
		}
	}
}

// isUnanswered reports whether a member has acked and not answered.
func (m member) isUnanswered() bool { return m.acked && !m.answered }

// unanswered returns the instances that have acked and not answered.
func (s *pendingMulticast) unanswered() []Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unansweredLocked()
}

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

// denied ends a call to the denied subject, unless an instance has acked.
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

// multicastProbe checks from time to time whether the instances that have acked and not answered are still there. Only
// the caller uses it.
type multicastProbe struct {
	client *Client
	call   *pendingMulticast
	due    time.Time       // the time of the next round
	outage <-chan struct{} // closed when an outage lasts too long
	*probe                 // nil before the first question
}

// round asks the broker for the unanswered instances, if the round is due.
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

// review evaluates the broker's answers: a lost instance becomes an outcome, and a suspect is asked for again soon.
func (p *multicastProbe) review() {
	lost, suspects := p.probe.review()
	for _, instance := range lost {
		p.call.lose(instance)
	}
	if suspects {
		p.due = time.Now().Add(probeAgain)
	}
}

// A multicast to known responders ends when all of them have answered. A first multicast to an address, or one that
// misses a known responder, ends after a quiet period without new acks: see docs/decisions/0011.
const (
	// multicastQuiet is the quiet period after the last ack, after which the caller concludes that all instances have
	// acked.
	multicastQuiet = 250 * time.Millisecond

	// earliestQuiet is the shortest quiet period of a call that may end early.
	earliestQuiet = 12 * time.Millisecond

	// quietFactor times the time of the slowest ack is the quiet period of a call that may end early.
	quietFactor = 8
)

// earlyEnd lets a first call end after a quiet period shorter than [multicastQuiet]. The lock of the slot protects it.
type earlyEnd struct {
	endsEarly bool          // the quiet period may be shorter than [multicastQuiet]
	lag       time.Duration // the longest delay of this process or the broker that the caller has noticed
	long      bool          // the quiet period was [multicastQuiet], and all messages until its end were delivered
}

// quietPeriodLocked returns how long the caller waits for another ack. Before the first ack it is at least the ack wait
// of a unicast call: the broker has not reported no responders, so an instance has the request.
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

// quietFrom returns the end of the quiet period if no other ack comes.
func (s *pendingMulticast) quietFrom() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastAck.Add(s.quietPeriodLocked())
}

// confirmQuiet reports whether the quiet period is over even if this process or the broker was slow. If not, the caller
// looks at the state again.
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

// catchUp waits until all messages that had reached the broker are delivered, and returns false if that takes too long.
func (s *pendingMulticast) catchUp(ctx context.Context) bool {
	ctx, cancel := context.WithDeadline(ctx, earlier(s.ends, time.Now().Add(multicastQuiet)))
	defer cancel()
	if s.client.broker.Flush(ctx) != nil {
		return false
	}
	s.client.broker.Barrier(ctx)
	return ctx.Err() == nil
}

// presentInstances returns the instances that have acked, if they are most likely all instances of the host; nil after
// a short quiet period, and for an endpoint with a queue, where one instance acks for all.
func (s *pendingMulticast) presentInstances() []Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, queued := s.findLocked([]byte(s.host)); queued || !s.long {
		return nil
	}
	return s.instancesLocked()
}

// instances returns the instances that have acked.
func (s *pendingMulticast) instances() []Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instancesLocked()
}

func (s *pendingMulticast) instancesLocked() (acked []Peer) {
	for _, each := range s.members {
		if each.acked {
			acked = append(acked, each.ack)
		}
	}
	return acked
}
