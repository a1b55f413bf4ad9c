package bus

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/wire"
)

// multicastSlot collects the acks and the responses of one multicast.
type multicastSlot struct {
	host  string
	call  *outgoing
	conn  *Conn
	known map[string]struct{} // who answered last time; not changed
	news  chan struct{}       // room for one: something below has changed

	mu       sync.Mutex      // protects all below
	acked    map[string]peer // by the name of the responder
	answered map[string]struct{}
	inbox    []outcome
	lastAck  time.Time
	nobody   bool // the broker knows of no subscriber
	direct   bool // a single instance was addressed, and has acked
	sealed   bool // the call has ended
}

func newMulticastSlot(c *Conn, call *outgoing, known map[string]struct{}) *multicastSlot {
	return &multicastSlot{
		conn: c, call: call, host: call.address.Host, known: known, news: make(chan struct{}, 1), lastAck: time.Now(),
		acked: make(map[string]peer), answered: make(map[string]struct{}),
	}
}

func (s *multicastSlot) expects(response *wire.Response) bool { return cameFrom(response, s.host) }

// acknowledge takes an ack; false when it comes too late.
func (s *multicastSlot) acknowledge(ack *wire.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sealed {
		s.heard(ack)
	}
	return !s.sealed
}

// heard notes who owes a response. The lock is held.
func (s *multicastSlot) heard(response *wire.Response) {
	name := responderName(response)
	if _, known := s.acked[name]; !known && len(s.acked) < maxResponders {
		s.acked[name] = senderOf(response)
		s.lastAck = time.Now()
		s.direct = response.FromID+"."+response.FromHost == s.host
	}
	s.wake()
}

// respond keeps the first response of each responder. One without an ack before it counts.
func (s *multicastSlot) respond(response *wire.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := responderName(response)
	if _, twice := s.answered[name]; !twice && len(s.answered) < maxResponders {
		s.answered[name] = struct{}{}
		s.inbox = append(s.inbox, outcome{response: response})
		s.heard(response)
	}
}

// lose notes that an instance that has acked is gone.
func (s *multicastSlot) lose(gone peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, ack := range s.acked {
		if _, answered := s.answered[name]; !answered && ack == gone {
			s.answered[name] = struct{}{}
			s.inbox = append(s.inbox, outcome{failed: instanceLost(gone, s.call.MsgID)})
		}
	}
}

// owing returns the instances that have acked and not answered.
func (s *multicastSlot) owing() (instances []peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, ack := range s.acked {
		if _, answered := s.answered[name]; !answered {
			instances = append(instances, ack)
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
	if subject != s.call.subject || s.nobody || len(s.acked) > 0 {
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

// next returns what has come next, nil when all have answered, or the error of ctx, or ErrDisconnected.
func (s *multicastSlot) next(ctx context.Context, asking *inquiry) (*outcome, error) {
	for {
		came, complete, silence := s.look()
		if came != nil || complete {
			return came, nil
		}
		timer := time.NewTimer(min(silence, asking.round()))
		select {
		case <-s.news:
		case <-timer.C:
		case <-asking.bad():
			asking.review()
		case <-asking.outage:
			timer.Stop()
			return nil, ErrDisconnected
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
		timer.Stop()
	}
}

// look takes the next outcome out of the inbox, or says whether the call is complete, or how long to wait for another
// ack until it is looked at again.
func (s *multicastSlot) look() (came *outcome, complete bool, silence time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.inbox) > 0 {
		came, s.inbox = &s.inbox[0], s.inbox[1:]
		return came, false, 0
	}
	if s.nobody && len(s.acked) == 0 {
		return nil, true, 0
	}
	if len(s.answered) < len(s.acked) {
		return nil, false, wire.MaxTimeBudget // only news, those who are gone or the end of ctx matter now
	}
	if s.direct || s.allKnownAnswered() {
		return nil, true, 0
	}
	silence = time.Until(s.lastAck.Add(multicastQuiet))
	return nil, silence <= 0, silence
}

func (s *multicastSlot) allKnownAnswered() bool {
	for name := range s.known {
		if _, ok := s.answered[name]; !ok {
			return false
		}
	}
	return len(s.known) > 0
}

// giveUp says what is missing when a call ends before all have answered: one error when the caller stopped waiting, else
// what has come in the last moment, and one error for each instance that acked and did not answer.
func (s *multicastSlot) giveUp(ctx context.Context, id string, outcomes []outcome, silent []peer, yield func(*wire.Response, error) bool) {
	if errors.Is(ctx.Err(), context.Canceled) {
		failed := newError(http.StatusServiceUnavailable, ExecutedUnknown, context.Cause(ctx), "the caller stopped waiting for %s", s.host)
		failed.MsgID = id
		yield(nil, failed)
		return
	}
	for _, came := range outcomes {
		if !came.yield(yield) {
			return
		}
	}
	for _, ack := range silent {
		failed := newError(http.StatusGatewayTimeout, ExecutedUnknown, errTimeBudget(), "acked, but no response within the time budget")
		failed.Host, failed.ID, failed.MsgID = ack.host, ack.id, id
		if !yield(nil, failed) {
			return
		}
	}
}

// cutOff yields what has come before the broker went away, and then that it has.
func (s *multicastSlot) cutOff(id string, outcomes []outcome, yield func(*wire.Response, error) bool) {
	failed := outlasted(s.host)
	failed.MsgID = id
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
	for name, ack := range s.acked {
		if _, answered := s.answered[name]; !answered {
			silent = append(silent, ack)
		}
	}
	return s.inbox, silent
}

// seal ends the call and returns who has acked or answered.
func (s *multicastSlot) seal() map[string]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	names := make(map[string]struct{}, len(s.acked))
	for name := range s.acked {
		names[name] = struct{}{}
	}
	return names
}
