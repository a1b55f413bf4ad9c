package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// pendingCall is the slot of a unicast call. It takes acks, and one response: of an instance that has acked or, before
// the first ack, of any instance of the host. An ack does not wake the caller. A pendingCall is reused for later calls.
type pendingCall struct {
	host    string // as called: host, or id.host
	subject string // of the request
	report  error  // the broker's last report before the call: see natsconn.Conn.DeniedSince
	ackWait time.Duration
	window  uint32        // for a response that is a stream; 0 if there may be none
	news    chan struct{} // buffer of one; a value wakes the caller, who looks at the outcome
	timer   *time.Timer   // used by the caller alone
	waited  time.Duration // how long the caller waited before it set the timer

	mu           sync.Mutex // protects all below; the caller reads upload without it
	msgID        string     // of the attempt; "" once the slot is closed
	listed       bool       // it is among the slots of its shard
	acks         []Peer     // instances that have acked: several if the endpoint has no queue
	response     *wire.Response
	failed       error // the reason for no response: the request has reached no instance, or the response is malformed
	malformedAck error // the error of a dropped ack

	upload   *upload   // nil for a request in one message
	incoming *incoming // nil for a response that is not a stream
}

// newCall returns the slot of an attempt, which is not listed.
func (p *pending) newCall(host, msgID string, ackWait time.Duration) *pendingCall {
	s, ok := p.unused.Get().(*pendingCall)
	if !ok {
		s = &pendingCall{news: make(chan struct{}, 1), timer: time.NewTimer(time.Hour), acks: make([]Peer, 0, 1)}
		s.timer.Stop()
	}
	s.host, s.ackWait = host, ackWait
	s.mu.Lock()
	defer s.mu.Unlock()
	s.msgID = msgID
	return s
}

// reuse takes back a closed slot. An instance of this process may still refer to it, with the message id of the call
// that has ended.
func (p *pending) reuse(s *pendingCall) {
	s.mu.Lock()
	select {
	case <-s.news:
	default:
	}
	clear(s.acks)
	s.acks, s.response, s.failed, s.malformedAck = s.acks[:0], nil, nil, nil
	s.upload, s.incoming = nil, nil
	s.mu.Unlock()
	s.host, s.subject, s.report, s.waited, s.window = "", "", nil, 0, 0
	p.unused.Put(s)
}

// maxInShard bounds the calls of a shard that wait for the broker, so that all acks and responses fit into what a
// connection holds of arrived messages: two for each call, of 16 shards.
const maxInShard = natsconn.IntakeCapacity / 32

// list adds a slot to its shard, where messages of the broker find it; an instance of this process has the slot itself,
// and needs the shard only for parts. A closed slot is not listed. There is an error if the shard is full.
func (p *pending) list(s *pendingCall, msgID string) error {
	at := p.shard(msgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	if len(at.slots) >= maxInShard {
		return status.TooBusy("too busy: this connection waits for the answers of %d calls", maxInShard*len(p.shards))
	}
	s.mu.Lock()
	s.listed = s.msgID == msgID
	listed := s.listed
	s.mu.Unlock()
	if listed {
		at.addLocked(msgID, s)
	}
	return nil
}

// closeCall closes a slot. From then on an ack or a response to it is unexpected.
func (p *pending) closeCall(s *pendingCall) {
	s.mu.Lock()
	msgID, listed := s.msgID, s.listed
	s.msgID, s.listed = "", false
	s.mu.Unlock()
	if listed {
		p.close(msgID)
	}
}

// take takes an ack or a response of an instance of this process, and reports whether the slot is still that of the
// call.
func (s *pendingCall) take(response *wire.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.msgID != response.MsgID {
		return false
	}
	if response.OpCode == wire.OpAck {
		s.acknowledgeLocked(response)
	} else {
		s.respondLocked(response)
	}
	return true
}

// maxAcks bounds the memory for acks of one call.
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
	s.acknowledgeLocked(ack)
	return true
}

func (s *pendingCall) acknowledgeLocked(ack *wire.Response) {
	from := SenderOf(ack)
	if len(s.acks) < maxAcks && !slices.Contains(s.acks, from) {
		s.acks = append(s.acks, from)
	}
	if s.upload != nil {
		s.upload.acked(from, ack.Window)
	}
}

// unanswered returns the instances that have acked.
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

// respond keeps the first response. An endpoint without a queue may send several.
func (s *pendingCall) respond(response *wire.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.respondLocked(response)
}

func (s *pendingCall) respondLocked(response *wire.Response) {
	switch {
	case s.response == nil:
		s.response = response
		s.wakeLocked()
	case s.incoming != nil && s.incoming.from == SenderOf(response):
		s.incoming.replaced(response) // it takes the place of the stream
	}
}

func (s *pendingCall) noteMalformedAck(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.malformedAck = err
}

// noteMalformed ends the call even if the sender is unknown: only an instance with the request knows the message id.
func (s *pendingCall) noteMalformed(_ *wire.Response, failed *status.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.incoming != nil {
		s.incoming.reader.Fail(failed)
	}
	s.failLocked(failed)
}

// failLocked ends the call, unless it has ended.
func (s *pendingCall) failLocked(why error) {
	if s.failed == nil {
		s.failed = why
		s.wakeLocked()
	}
}

// fail ends the call, unless it has ended.
func (s *pendingCall) fail(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(why)
}

// explain adds a malformed ack to the error of a call without a response. The error is then internal, as it quotes the
// ack.
func (s *pendingCall) explain(failed *status.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.malformedAck != nil && failed.Executed == status.ExecutedUnknown {
		failed.Detail += "; a malformed ack was dropped: " + s.malformedAck.Error()
		failed.Internal = true
	}
}

// noResponders ends the call, unless an instance has acked the whole request. If an instance has acked part 1, it has
// left.
func (s *pendingCall) noResponders() {
	receiver, streams := s.firstTaker()
	switch {
	case receiver == Peer{}:
		s.reachesNone(errNoSubscriber)
	case streams: // it has been sent in part, and cannot be sent again
		s.fail(instanceLost(receiver, ""))
	default:
		s.reachesNone(leftError{receiver})
	}
}

// denied ends a call to the denied subject, unless an instance has acked the whole request.
func (s *pendingCall) denied(subject string) {
	if subject == s.subject {
		s.reachesNone(errDenied)
	}
}

func (s *pendingCall) reachesNone(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ackedWholeLocked() {
		s.failLocked(why)
	}
}

// wakeLocked wakes the caller, who looks at the outcome.
func (s *pendingCall) wakeLocked() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// outcome returns the response, or the reason for no response; neither while the call is open.
func (s *pendingCall) outcome() (*wire.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.response != nil {
		return s.response, nil
	}
	return nil, s.failed
}

// responseOr returns the response if there is one by now, or else err.
func (s *pendingCall) responseOr(err error) (*wire.Response, error) {
	if response, _ := s.outcome(); response != nil {
		return response, nil
	}
	return nil, err
}

// lose removes an instance that is gone, and reports whether the call has lost its last instance, or the one that takes
// its parts.
func (s *pendingCall) lose(gone Peer) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acks = slices.DeleteFunc(s.acks, func(ack Peer) bool { return ack == gone })
	return len(s.acks) == 0 || s.takerLocked() == gone
}

// gaveUp returns the error of a call whose context or time budget has ended.
func (s *pendingCall) gaveUp(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return status.MayHaveRun(http.StatusServiceUnavailable, status.ContextEnded(ctx),
			"the caller stopped waiting for %s", s.host)
	}
	takers := s.unanswered()
	if len(takers) == 0 {
		return status.MayHaveRun(http.StatusServiceUnavailable, errors.Join(status.ErrNoAck, context.DeadlineExceeded),
			"no ack from %s within the time budget", s.host)
	}
	failed := status.MayHaveRun(http.StatusGatewayTimeout, status.TimeBudgetSpent(),
		"%s took the call, and did not answer within the time budget", s.host)
	if len(takers) == 1 {
		failed.Host, failed.ID = takers[0].Host, takers[0].ID
	}
	return failed
}

// firstTaker returns the instance that takes the other parts of the request, the zero value for none, and whether they
// are a stream.
func (s *pendingCall) firstTaker() (receiver Peer, streams bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takerLocked(), s.upload != nil && s.upload.isStream()
}

func (s *pendingCall) takerLocked() Peer {
	if s.upload == nil {
		return Peer{}
	}
	return s.upload.receiver
}

// ackedWholeLocked reports whether an instance has acked a request in one message.
func (s *pendingCall) ackedWholeLocked() bool { return len(s.acks) > 0 && s.upload == nil }

// mayAnswerLocked reports whether an instance may answer: any that has acked or, for a request in parts, the receiver.
func (s *pendingCall) mayAnswerLocked(from Peer) bool {
	if s.upload != nil {
		return s.takerLocked() == from
	}
	return slices.Contains(s.acks, from)
}

// idleTakers returns the instances that have acked the first part and get no others.
func (s *pendingCall) idleTakers() []Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.acks), func(acked Peer) bool { return acked == s.takerLocked() })
}

// hasEnded reports whether the call has ended; await finds the reason.
func (s *pendingCall) hasEnded(ctx context.Context, ends time.Time) bool {
	response, err := s.outcome()
	return response != nil || err != nil || ctx.Err() != nil || !time.Now().Before(ends)
}
