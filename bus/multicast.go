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
		leave, err := c.enter(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer leave()
		ctx, cut := context.WithCancelCause(ctx)
		defer cut(nil)
		defer context.AfterFunc(c.base, func() { cut(ErrClosed) })()
		ctx, cancel := context.WithTimeout(ctx, budget(ctx))
		defer cancel()
		request := *request // each range is a call of its own
		if err := c.seal(ctx, &request); err != nil {
			yield(nil, err)
			return
		}
		sent := stamp(ctx, &request)
		if err := tooLate(ctx, sent); err != nil {
			yield(nil, err)
			return
		}
		c.gather(ctx, sent, yield)
	}
}

func (c *Conn) gather(ctx context.Context, sent *outgoing, yield func(*wire.Response, error) bool) {
	before := c.responders.begin(sent.address.Host, sent.subject, sent.MsgID)
	waiting := newMulticastSlot(sent.address.Host, before.names)
	c.pending.open(sent.MsgID, waiting)
	defer c.pending.close(sent.MsgID)
	if err := c.nats.send(sent); err != nil {
		yield(nil, unsent(err))
		return
	}
	for {
		response, err := waiting.next(ctx)
		switch {
		case err != nil:
			waiting.giveUp(ctx, sent.MsgID, yield)
			return
		case response == nil: // all have answered; a call that ends before has not seen all
			c.responders.learn(sent.subject, before, waiting.seal())
			return
		case !yield(response, nil):
			return
		}
	}
}

// multicastSlot collects the acks and the responses of one multicast.
type multicastSlot struct {
	host  string
	known map[string]struct{} // who answered last time; not changed
	news  chan struct{}       // room for one: something below has changed

	mu       sync.Mutex // protects all below
	acked    map[string]*wire.Response
	answered map[string]struct{}
	inbox    []*wire.Response
	lastAck  time.Time
	nobody   bool // the broker knows of no subscriber
	direct   bool // a single instance was addressed, and has acked
	sealed   bool // the call has ended
}

func newMulticastSlot(host string, known map[string]struct{}) *multicastSlot {
	return &multicastSlot{
		host: host, known: known, news: make(chan struct{}, 1), lastAck: time.Now(),
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
		s.inbox = append(s.inbox, response)
		s.heard(response)
	}
}

func (s *multicastSlot) absent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nobody = true
	s.wake()
}

func (s *multicastSlot) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// next returns the next response, nil when all have answered, or the error of ctx.
func (s *multicastSlot) next(ctx context.Context) (*wire.Response, error) {
	for {
		response, complete, silence := s.look()
		if response != nil || complete {
			return response, nil
		}
		timer := time.NewTimer(silence)
		select {
		case <-s.news:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
		timer.Stop()
	}
}

// look takes a response out of the inbox, or says whether the call is complete, or how long to wait for another
// ack until it is looked at again.
func (s *multicastSlot) look() (response *wire.Response, complete bool, silence time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.inbox) > 0 {
		response, s.inbox = s.inbox[0], s.inbox[1:]
		return response, false, 0
	}
	if s.nobody && len(s.acked) == 0 {
		return nil, true, 0
	}
	if len(s.answered) < len(s.acked) {
		return nil, false, wire.MaxTimeBudget // only news or the end of ctx matter now
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
func (s *multicastSlot) giveUp(ctx context.Context, id string, yield func(*wire.Response, error) bool) {
	if errors.Is(ctx.Err(), context.Canceled) {
		failed := newError(http.StatusServiceUnavailable, ExecutedUnknown, context.Cause(ctx), "the caller stopped waiting for %s", s.host)
		failed.MsgID = id
		yield(nil, failed)
		return
	}
	answers, silent := s.remainder()
	for _, response := range answers {
		if !yield(response, nil) {
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

// remainder ends the call and returns the responses that were not taken yet, and the acks of those who owe one.
func (s *multicastSlot) remainder() (answers, silent []*wire.Response) {
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
