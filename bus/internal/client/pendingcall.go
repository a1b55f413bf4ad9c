package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// pendingCall waits for acks and for one response of an instance that has acked, or of any while none has. An ack does
// not wake the caller. It is used for one call after the other.
type pendingCall struct {
	host    string // as called, with the instance in front when one was addressed
	subject string // of the request
	report  error  // the broker's last report before the call: see natsconn.Conn.DeniedSince
	ackWait time.Duration
	news    chan struct{} // room for one: there is an outcome
	timer   *time.Timer   // of the caller
	waited  time.Duration // by the caller before the timer was set

	mu           sync.Mutex // protects all below, and fragments until the request leaves
	acks         []Peer     // the instances that have acked: several, without a queue
	response     *wire.Response
	failed       error // why there will be no response: the request has reached no one, or the response is malformed
	malformedAck error // what was wrong with an ack that was dropped

	fragments *fragmentSender // nil when the request travels whole
}

// newCall returns an unused slot.
func (p *pending) newCall(host string, ackWait time.Duration) *pendingCall {
	s, ok := p.unused.Get().(*pendingCall)
	if !ok {
		s = &pendingCall{news: make(chan struct{}, 1), timer: time.NewTimer(time.Hour), acks: make([]Peer, 0, 1)}
		s.timer.Stop()
	}
	s.host, s.ackWait = host, ackWait
	return s
}

// reuse takes back a slot that is closed, so that nothing refers to it any more.
func (p *pending) reuse(s *pendingCall) {
	select {
	case <-s.news:
	default:
	}
	clear(s.acks)
	*s = pendingCall{news: s.news, timer: s.timer, acks: s.acks[:0]}
	p.unused.Put(s)
}

// maxAcks bounds the memory that endless acks could take.
const maxAcks = 4096

func (s *pendingCall) expects(response *wire.Response) bool {
	if !cameFrom(response, s.host) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return response.OpCode == wire.OpAck || len(s.acks) == 0 || s.mayAnswerLocked(SenderOf(response))
}

func (s *pendingCall) acknowledge(ack *wire.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := SenderOf(ack)
	if len(s.acks) < maxAcks && !slices.Contains(s.acks, from) {
		s.acks = append(s.acks, from)
	}
	if s.fragments != nil {
		s.fragments.offer(from)
	}
	return true
}

// unanswered returns the instances that would work in vain if the caller left.
func (s *pendingCall) unanswered() []Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acks)
}

func (s *pendingCall) acked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.acks) > 0
}

// respond keeps the first response; an endpoint without a queue may send several.
func (s *pendingCall) respond(response *wire.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.response == nil {
		s.response = response
		s.wakeLocked()
	}
}

func (s *pendingCall) noteMalformedAck(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.malformedAck = err
}

// noteMalformed ends the call also if the sender is unknown: only an instance that got the request knows its message id.
func (s *pendingCall) noteMalformed(_ *wire.Response, failed *status.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = failed
		s.wakeLocked()
	}
}

// explain has the error of a call whose answer did not come say that a malformed ack came. What it was is nothing for people
// outside of the bus.
func (s *pendingCall) explain(failed *status.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.malformedAck != nil && failed.Executed == status.ExecutedUnknown {
		failed.Detail += "; a malformed ack was dropped: " + s.malformedAck.Error()
		failed.Internal = true
	}
}

// noResponders believes that no instance is there, unless an instance has acked the whole request.
func (s *pendingCall) noResponders() {
	if taker := s.firstTaker(); taker != (Peer{}) {
		s.reachesNone(leftError{taker})
	} else {
		s.reachesNone(errNoSubscriber)
	}
}

// denied believes that the broker has refused the request, unless an instance has acked it.
func (s *pendingCall) denied(subject string) {
	if subject == s.subject {
		s.reachesNone(errDenied)
	}
}

func (s *pendingCall) reachesNone(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && !s.ackedWholeLocked() {
		s.failed = why
		s.wakeLocked()
	}
}

// wakeLocked tells the caller that there is an outcome.
func (s *pendingCall) wakeLocked() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// outcome returns the response, or why there will be none; neither while that is open.
func (s *pendingCall) outcome() (*wire.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.response != nil {
		return s.response, nil
	}
	return nil, s.failed
}

// responseOr returns the response if it has come in the meantime, or else why there is none.
func (s *pendingCall) responseOr(err error) (*wire.Response, error) {
	if response, _ := s.outcome(); response != nil {
		return response, nil
	}
	return nil, err
}

// lose notes that an instance that has acked is gone, and reports whether it was the last one.
func (s *pendingCall) lose(gone Peer) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acks = slices.DeleteFunc(s.acks, func(ack Peer) bool { return ack == gone })
	return len(s.acks) == 0 || (s.fragments != nil && s.fragments.taker == gone)
}

// gaveUp says why a caller stopped waiting.
func (s *pendingCall) gaveUp(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedUnknown, status.ContextEnded(ctx), "the caller stopped waiting for %s", s.host)
	}
	takers := s.unanswered()
	if len(takers) == 0 {
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedUnknown, errors.Join(status.ErrNoAck, context.DeadlineExceeded),
			"no ack from %s within the time budget", s.host)
	}
	failed := status.Errorf(http.StatusGatewayTimeout, status.ExecutedUnknown, status.TimeBudgetSpent(), "%s took the call, and did not answer within the time budget", s.host)
	if len(takers) == 1 {
		failed.Host, failed.ID = takers[0].Host, takers[0].ID
	}
	return failed
}

// fragmentSender is a request that travels in fragments.
type fragmentSender struct {
	fragment.Plan
	client   *Client
	whole    *Outgoing
	taker    Peer      // the instance that was first to ack, the zero value before; the slot protects it
	taken    chan Peer // brings it to the caller; room for one
	complete bool      // the last part has left; of the caller's goroutine alone
}

// offer takes the first instance that acks.
func (d *fragmentSender) offer(acked Peer) {
	if d.taker == (Peer{}) {
		d.taker = acked
		d.taken <- acked
	}
}

// sendInFragments says that the request travels in parts, before the first of them leaves.
func (s *pendingCall) sendInFragments(d *fragmentSender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fragments = d
}

// taker is where the instance comes that has taken the first part; nil for a request that travels whole.
func (s *pendingCall) taker() <-chan Peer {
	if s.fragments == nil {
		return nil
	}
	return s.fragments.taken
}

// firstTaker is the instance that has taken the first part of a request, so that it gets the others; the zero value for none.
func (s *pendingCall) firstTaker() Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fragments == nil {
		return Peer{}
	}
	return s.fragments.taker
}

// ackedWholeLocked reports whether an instance has taken the request, and not just a part of it.
func (s *pendingCall) ackedWholeLocked() bool {
	return len(s.acks) > 0 && s.fragments == nil
}

// mayAnswerLocked reports whether an instance may answer: of those that have the first part of a request, one gets the others.
func (s *pendingCall) mayAnswerLocked(from Peer) bool {
	if s.fragments != nil {
		return s.fragments.taker == from
	}
	return slices.Contains(s.acks, from)
}

// idle are the instances that have the first part of a request for nothing, as another one has the whole.
func (s *pendingCall) idleTakers() []Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.acks), func(acked Peer) bool { return acked == s.fragments.taker })
}

// incomplete reports whether parts are left, so that nothing can have been handled.
func (s *pendingCall) incomplete() bool { return s.fragments != nil && !s.fragments.complete }

// follow sends all parts but the first to the instance that has taken that, on the caller's goroutine. It stops when the
// call has ended meanwhile.
func (s *pendingCall) publishFollowing(ctx context.Context, taker Peer, ends time.Time) error {
	request, client := s.fragments.whole, s.fragments.client
	there := request.Address
	there.Host = taker.ID + "." + taker.Host
	to, err := there.Subject(client.config.Plane)
	if err != nil {
		return status.Unsent(err)
	}
	for number := 2; number <= s.fragments.Count; number++ {
		if s.hasEnded(ctx, ends) {
			return nil
		}
		if err := client.publishFragment(ctx, to, request.reply, s.fragments.Request(number, &request.Request, there.Host)); err != nil {
			return status.Unsent(err) // the whole is not there yet
		}
	}
	s.fragments.complete = true
	return nil
}

// over reports whether the call has ended, so that wait finds why.
func (s *pendingCall) hasEnded(ctx context.Context, ends time.Time) bool {
	response, err := s.outcome()
	return response != nil || err != nil || ctx.Err() != nil || !time.Now().Before(ends)
}
