package bus

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/wire"
)

// multicastSlot collects the acks and the responses of one multicast. An ack does not wake the caller. It is used for one
// call after the other.
type multicastSlot struct {
	host  string // of those who answer; "all" for an event, which any host may
	call  outgoing
	conn  *Conn
	known map[string]int // who answered the last time, with their places among members; not changed
	began time.Time
	ends  time.Time     // of the time budget
	news  chan struct{} // room for one: there is something to take, or all that have acked have answered

	timer  *time.Timer // of the caller, as all of this paragraph
	set    time.Time   // what the timer is set to; zero when it does not run
	asking inquiry

	mu        sync.Mutex     // protects all below
	members   []member       // first those who are known
	strangers map[string]int // the places of all others, by name
	acked     int            // of the members
	answered  int            // of them
	missing   int            // of those known, who have not answered
	inbox     []outcome
	taken     int // of the inbox
	lastAck   time.Time
	nobody    bool // the broker knows of no subscriber
	direct    bool // a single instance was addressed, and has acked
	doubts    bool // those who were known need not be all
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

// place returns where the sender stands among the members; -1 when there are too many. The lock is held.
func (s *multicastSlot) place(response *wire.Response) int {
	var room [128]byte
	name := appendResponderName(room[:0], response)
	if at, known := s.known[string(name)]; known {
		return at
	}
	if at, known := s.strangers[string(name)]; known {
		return at
	}
	if len(s.strangers) >= maxResponders {
		return -1
	}
	if s.strangers == nil {
		s.strangers = make(map[string]int)
	}
	at := len(s.members)
	s.strangers[string(name)], s.members = at, append(s.members, member{})
	return at
}

// heard notes who owes a response. The lock is held.
func (s *multicastSlot) heard(at int, response *wire.Response) {
	if from := &s.members[at]; !from.acked {
		from.acked, from.ack = true, senderOf(response)
		s.acked++
		s.lastAck = time.Now()
		s.direct = joins(s.host, response.FromID, response.FromHost)
	}
}

// respond keeps the first response of each responder. One without an ack before it counts.
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

// settle takes what has become of the call at a member. The lock is held.
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

// denied believes that the broker has not taken the request unless somebody has acked it.
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

// ending is why a caller waits no longer.
type ending int

const (
	goesOn ending = iota
	allAnswered
	brokerGone // for longer than calls wait
	timeUp
	callerGone // or the connection closes
)

// next returns what has come next, or why nothing more will.
func (s *multicastSlot) next(ctx context.Context) (outcome, ending) {
	for {
		came, now := s.look()
		wake := s.asking.due
		switch {
		case now == hasOutcome:
			return came, goesOn
		case now == isComplete, now == isQuiet && s.believes(ctx), now == isKnown && !s.mayBeGreeted():
			return came, allAnswered
		case now == isKnown:
			wake = earlier(wake, time.Now().Add(time.Millisecond))
		case now == isQuiet:
			continue
		case now == isOpen:
			wake = earlier(wake, s.quietFrom())
		}
		if why := s.sleep(ctx, earlier(wake, s.ends)); why != goesOn {
			return came, why
		}
	}
}

// sleep returns when there is something to look at, after wake at the latest.
func (s *multicastSlot) sleep(ctx context.Context, wake time.Time) ending {
	if s.set.IsZero() || wake.Before(s.set) { // else it goes off early, which costs less than to set it for each answer
		s.timer.Reset(time.Until(wake))
		s.set = wake
	}
	select {
	case <-s.news:
	case <-s.timer.C:
		s.set = time.Time{}
		if !time.Now().Before(s.ends) {
			return timeUp
		}
		s.asking.round()
	case <-s.asking.bad():
		s.asking.review()
	case <-s.asking.outage:
		return brokerGone
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return callerGone
		}
		return timeUp
	case <-s.conn.base.Done():
		return callerGone
	}
	return goesOn
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// progress is how a multicast stands.
type progress int

const (
	hasOutcome progress = iota
	isOwed              // somebody has acked and not answered: only news matter, or who is gone, or the end
	isOpen              // all that have acked have answered; there may be others
	isQuiet             // there seem to be no others
	isKnown             // all that answered the last time have done so again
	isComplete
)

// look takes the next outcome out of the inbox, or says how the call stands.
func (s *multicastSlot) look() (came outcome, now progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.taken < len(s.inbox):
		came, s.inbox[s.taken] = s.inbox[s.taken], outcome{}
		s.taken++
		return came, hasOutcome
	case s.nobody && s.acked == 0:
		return came, isComplete
	case s.answered < s.acked:
		return came, isOwed
	case s.direct:
		return came, isComplete
	case s.relies():
		return came, isKnown
	case time.Now().Before(s.lastAck.Add(s.silence())):
		return came, isOpen
	default:
		return came, isQuiet
	}
}

// relies says whether the call ends because those who were known have answered. The lock is held.
func (s *multicastSlot) relies() bool {
	return len(s.known) > 0 && s.missing == 0 && !s.direct && !s.doubts
}

// doubt has the call wait for others than those who were known: somebody has come or gone. False when it does so anyway.
func (s *multicastSlot) doubt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.doubts
	s.doubts = before || s.relies()
	return s.doubts != before
}

// mayBeGreeted says whether a request of the framework is being handled: it may say that somebody has come.
func (s *multicastSlot) mayBeGreeted() bool {
	_, working := s.conn.controls.count()
	return working > 0
}

// giveUp says what is missing when the caller stopped waiting.
func (s *multicastSlot) giveUp(ctx context.Context, yield func(*wire.Response, error) bool) {
	why := context.Cause(ctx)
	if why == nil {
		why = ErrClosed
	}
	failed := newError(http.StatusServiceUnavailable, ExecutedUnknown, why, "the caller stopped waiting for %s", s.call.address.Host)
	failed.MsgID = s.call.MsgID
	yield(nil, failed)
}

// timeOut yields what has come in the last moment, and one error for each instance that acked and did not answer.
func (s *multicastSlot) timeOut(outcomes []outcome, silent []peer, yield func(*wire.Response, error) bool) {
	for _, came := range outcomes {
		if !came.yield(yield) {
			return
		}
	}
	for _, ack := range silent {
		failed := newError(http.StatusGatewayTimeout, ExecutedUnknown, errTimeBudget(), "acked, but no response within the time budget")
		failed.Host, failed.ID, failed.MsgID = ack.host, ack.id, s.call.MsgID
		if !yield(nil, failed) {
			return
		}
	}
}

// cutOff yields what has come before the broker went away, and then that it has.
func (s *multicastSlot) cutOff(outcomes []outcome, yield func(*wire.Response, error) bool) {
	failed := outlasted(s.call.address.Host)
	failed.MsgID = s.call.MsgID
	for _, each := range append(outcomes, outcome{failed: failed}) {
		if !each.yield(yield) {
			return
		}
	}
}

// remainder ends the call and returns the outcomes that were not taken yet, and those who owe one.
func (s *multicastSlot) remainder() (outcomes []outcome, silent []peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	return s.inbox[s.taken:], s.owed()
}

// seal ends the call, unless somebody has turned up in the meantime. It returns who has acked when those are not the ones
// that were known, or nil, and whether the call is over before it has been quiet for long.
func (s *multicastSlot) seal() (names map[string]int, hasty, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered < s.acked || s.taken < len(s.inbox) {
		return nil, false, false
	}
	s.sealed = true
	if len(s.known) > 0 && s.missing == 0 && len(s.strangers) == 0 {
		return nil, false, true
	}
	names = make(map[string]int, s.acked)
	for _, places := range []map[string]int{s.known, s.strangers} {
		for name, at := range places {
			if s.members[at].acked {
				enlist(names, name)
			}
		}
	}
	return names, s.hasty && !s.direct && s.acked > 0, true
}
