package bus

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/busline/busline/bus/wire"
)

// unicastSlot waits for acks and for one response of an instance that has acked, or of any while none has. An ack does
// not wake the caller. It is used for one call after the other.
type unicastSlot struct {
	host    string // as called, with the instance in front when one was addressed
	subject string // of the request
	report  error  // the broker's last report before the call: see denied.go
	ackWait time.Duration
	news    chan struct{} // room for one: there is an outcome
	timer   *time.Timer   // of the caller
	waited  time.Duration // by the caller before the timer was set

	mu       sync.Mutex // protects all below, and departing until the request leaves
	acks     []peer     // the instances that have acked: several, without a queue
	response *wire.Response
	failed   error // why there will be no response: the request has reached no one, or the response is malformed
	spoilt   error // what was wrong with an ack that was dropped

	departing *departing // nil when the request travels whole
}

// newSlot returns an unused slot.
func (p *pending) newSlot(host string, ackWait time.Duration) *unicastSlot {
	s, ok := p.unused.Get().(*unicastSlot)
	if !ok {
		s = &unicastSlot{news: make(chan struct{}, 1), timer: time.NewTimer(time.Hour), acks: make([]peer, 0, 1)}
		s.timer.Stop()
	}
	s.host, s.ackWait = host, ackWait
	return s
}

// reuse takes back a slot that is closed, so that nothing refers to it any more.
func (p *pending) reuse(s *unicastSlot) {
	select {
	case <-s.news:
	default:
	}
	clear(s.acks)
	*s = unicastSlot{news: s.news, timer: s.timer, acks: s.acks[:0]}
	p.unused.Put(s)
}

// maxAcks bounds the memory that endless acks could take.
const maxAcks = 4096

func (s *unicastSlot) expects(response *wire.Response) bool {
	if !cameFrom(response, s.host) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return response.OpCode == wire.OpAck || len(s.acks) == 0 || s.believes(senderOf(response))
}

func (s *unicastSlot) acknowledge(ack *wire.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := senderOf(ack)
	if len(s.acks) < maxAcks && !slices.Contains(s.acks, from) {
		s.acks = append(s.acks, from)
	}
	if s.departing != nil {
		s.departing.offer(from)
	}
	return true
}

// owing returns the instances that would work in vain if the caller left.
func (s *unicastSlot) owing() []peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acks)
}

func (s *unicastSlot) acked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.acks) > 0
}

// respond keeps the first response; an endpoint without a queue may send several.
func (s *unicastSlot) respond(response *wire.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.response == nil {
		s.response = response
		s.wake()
	}
}

func (s *unicastSlot) spoilAck(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoilt = err
}

// spoil ends the call also if the sender is unknown: only an instance that got the request knows its message id.
func (s *unicastSlot) spoil(_ *wire.Response, failed *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = failed
		s.wake()
	}
}

// explain has the error of a call whose answer did not come say that a malformed ack came. What it was is nothing for people
// outside of the bus.
func (s *unicastSlot) explain(failed *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spoilt != nil && failed.Executed == ExecutedUnknown {
		failed.Detail += "; a malformed ack was dropped: " + s.spoilt.Error()
		failed.internal = true
	}
}

// absent believes that nobody is there, unless somebody has acked the whole request.
func (s *unicastSlot) absent() {
	if taker := s.firstTaker(); taker != (peer{}) {
		s.reachesNobody(leftError{taker})
	} else {
		s.reachesNobody(errAbsent)
	}
}

// denied believes that the broker has refused the request, unless somebody has acked it.
func (s *unicastSlot) denied(subject string) {
	if subject == s.subject {
		s.reachesNobody(errDenied)
	}
}

func (s *unicastSlot) reachesNobody(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && !s.ackedWhole() {
		s.failed = why
		s.wake()
	}
}

// wake tells the caller that there is an outcome. The lock is held.
func (s *unicastSlot) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// outcome returns the response, or why there will be none; neither while that is open.
func (s *unicastSlot) outcome() (*wire.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.response != nil {
		return s.response, nil
	}
	return nil, s.failed
}

// lastWord returns the response if it has come in the meantime, or else why there is none.
func (s *unicastSlot) lastWord(err error) (*wire.Response, error) {
	if response, _ := s.outcome(); response != nil {
		return response, nil
	}
	return nil, err
}

// lose notes that an instance that has acked is gone, and says whether it was the last one.
func (s *unicastSlot) lose(gone peer) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acks = slices.DeleteFunc(s.acks, func(ack peer) bool { return ack == gone })
	return len(s.acks) == 0 || (s.departing != nil && s.departing.taker == gone)
}

// gaveUp says why a caller stopped waiting.
func (s *unicastSlot) gaveUp(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return newError(http.StatusServiceUnavailable, ExecutedUnknown, errEnded(ctx), "the caller stopped waiting for %s", s.host)
	}
	takers := s.owing()
	if len(takers) == 0 {
		return newError(http.StatusServiceUnavailable, ExecutedUnknown, errors.Join(ErrNoAck, context.DeadlineExceeded),
			"no ack from %s within the time budget", s.host)
	}
	failed := newError(http.StatusGatewayTimeout, ExecutedUnknown, errTimeBudget(), "%s took the call, and did not answer within the time budget", s.host)
	if len(takers) == 1 {
		failed.Host, failed.ID = takers[0].host, takers[0].id
	}
	return failed
}
