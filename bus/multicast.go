package bus

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/wire"
)

// multicastQuiet is how long no new ack has to come before a caller takes it that all instances have heard.
const multicastQuiet = 250 * time.Millisecond

// multicast makes one call to every instance that serves the address, and yields what each answers, as it
// comes. It goes over the broker even to instances of this process, so that each gets it once. An instance that
// has acked and does not answer in time is yielded as an error. Nobody there: nothing is yielded.
func (c *Conn) multicast(ctx context.Context, request *outgoing) iter.Seq2[*wire.Response, error] {
	return func(yield func(*wire.Response, error) bool) {
		nested, err := c.enter(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		if !nested {
			defer c.calls.leave()
		}
		ctx, cut := context.WithCancelCause(ctx)
		defer cut(nil)
		defer context.AfterFunc(c.base, func() { cut(ErrClosed) })()
		ends := time.Now().Add(budget(ctx))
		ctx, cancel := context.WithDeadline(ctx, ends)
		defer cancel()
		request := *request // each range is a call of its own
		if err := c.seal(ctx, &request); err != nil {
			yield(nil, err)
			return
		}
		stamp(&request, ends)
		if err := tooLate(ctx, &request); err != nil {
			yield(nil, err)
			return
		}
		c.gather(ctx, &request, yield)
	}
}

func (c *Conn) gather(ctx context.Context, sent *outgoing, yield func(*wire.Response, error) bool) {
	before := c.responders.begin(sent.address.Host, sent.subject, sent.MsgID)
	waiting := newMulticastSlot(c, sent, before.names)
	c.pending.open(sent.MsgID, waiting)
	defer c.pending.close(sent.MsgID)
	if err := c.nats.send(sent); err != nil {
		yield(nil, unsent(err))
		return
	}
	asking := &inquiry{conn: c, slot: waiting, due: time.Now().Add(probeInterval), outage: c.link.outage.tooLong()}
	defer func() { asking.end() }() // not without the closure: there is nothing to end yet
	for {
		came, err := waiting.next(ctx, asking)
		c.callees.note(sent.address, came.answer())
		switch {
		case err != nil:
			c.stopWaiting(ctx, sent, waiting, yield)
			return
		case came == nil: // all have answered; a call that ends before has not seen all
			c.responders.learn(sent.subject, before, waiting.seal())
			return
		case !came.yield(yield):
			return
		}
	}
}

// stopWaiting tells the caller what is missing, and those who work for it that they work for nobody.
func (c *Conn) stopWaiting(ctx context.Context, sent *outgoing, waiting *multicastSlot, yield func(*wire.Response, error) bool) {
	outcomes, silent := waiting.remainder()
	if ctx.Err() == nil {
		waiting.cutOff(sent.MsgID, outcomes, yield)
		return
	}
	for _, ack := range silent {
		c.callOff(ctx, sent, []peer{senderOf(ack)})
	}
	waiting.giveUp(ctx, sent.MsgID, outcomes, silent, yield)
}

// outcome is what has become of the call at one instance: a response, or why there will be none.
type outcome struct {
	response *wire.Response
	failed   *Error
}

// answer returns the response, nil when there is none.
func (o *outcome) answer() *wire.Response {
	if o == nil {
		return nil
	}
	return o.response
}

func (o *outcome) yield(yield func(*wire.Response, error) bool) bool {
	if o.failed != nil {
		return yield(nil, o.failed)
	}
	return yield(o.response, nil)
}

// multicastSlot collects the acks and the responses of one multicast.
type multicastSlot struct {
	host  string
	call  *outgoing
	conn  *Conn
	known map[string]struct{} // who answered last time; not changed
	news  chan struct{}       // room for one: something below has changed

	mu       sync.Mutex // protects all below
	acked    map[string]*wire.Response
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
		acked: make(map[string]*wire.Response), answered: make(map[string]struct{}),
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
	if s.acked[name] == nil && len(s.acked) < maxResponders {
		s.acked[name] = response
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
		if _, answered := s.answered[name]; !answered && senderOf(ack) == gone {
			s.answered[name] = struct{}{}
			s.inbox = append(s.inbox, outcome{failed: instanceLost(gone, ack.MsgID)})
		}
	}
}

// owing returns the instances that have acked and not answered.
func (s *multicastSlot) owing() (instances []peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, ack := range s.acked {
		if _, answered := s.answered[name]; !answered {
			instances = append(instances, senderOf(ack))
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
func (s *multicastSlot) giveUp(ctx context.Context, id string, outcomes []outcome, silent []*wire.Response, yield func(*wire.Response, error) bool) {
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
		failed.Host, failed.ID, failed.MsgID = ack.FromHost, ack.FromID, ack.MsgID
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

// remainder ends the call and returns the outcomes that were not taken yet, and the acks of those who owe one.
func (s *multicastSlot) remainder() (outcomes []outcome, silent []*wire.Response) {
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
