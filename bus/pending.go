package bus

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// pending holds a slot for each request that waits for an answer, by message id. A slot is opened before its request
// leaves, and closed by the code that opened it, on every path.
type pending struct {
	shards [16]shard // by the last byte of the id, so that calls do not wait for each other

	reminder reminder // of the callers that wait

	watching sync.Mutex        // protects watches
	watches  map[string]func() // called when no instance is there, by the token of the probe

	unused   sync.Pool            // of *pendingCall
	stranger func(*wire.Response) // called with acks and responses without a slot
	encode   func(*status.Error) *wire.Response
	limit    int              // of the body of a response, in bytes
	memory   *fragment.Memory // of responses that come in parts
}

// shard holds some of the slots.
type shard struct {
	mu        sync.Mutex // protects what is below, and is held while a method of a slot is called
	slots     map[string]slot
	arriving  map[string]arriving // by message id; nothing without a slot
	reminders reminders
}

// slot receives what arrives for one request. Its methods are called on the goroutines that read from the broker: they
// must not block. None is called any more once the slot is closed.
type slot interface {
	// expects reports whether an ack or a response may come from its sender.
	expects(response *wire.Response) bool
	// acknowledge takes an ack, and does not keep it.
	acknowledge(ack *wire.Response) (inTime bool)
	respond(response *wire.Response)
	// spoilAck takes why an ack was dropped, for the error of a call that gets no response.
	spoilAck(err error)
	// noteMalformed takes the error that stands for a malformed response, of which the sender may be unknown.
	noteMalformed(response *wire.Response, failed *status.Error)
	// noResponders is called when no instance subscribes: the request has reached no one.
	noResponders()
	// denied is called when the broker refuses messages to a subject. The request may have gone to another one.
	denied(subject string)
}

func newPending(stranger func(*wire.Response), encode func(*status.Error) *wire.Response, limit int, memory *fragment.Memory) *pending {
	p := &pending{watches: make(map[string]func()), stranger: stranger, encode: encode, limit: limit, memory: memory}
	p.reminder.callers = p
	return p
}

func (p *pending) shard(id string) *shard { return &p.shards[shardOf(id, len(p.shards))] }

// shardOf spreads message ids over count shards by their last byte, which is random.
func shardOf(id string, count int) int {
	if id == "" {
		return 0
	}
	return int(id[len(id)-1]) % count
}

func (p *pending) open(id string, s slot) {
	at := p.shard(id)
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.slots == nil {
		at.slots = make(map[string]slot)
	}
	at.slots[id] = s
}

func (p *pending) close(id string) {
	at := p.shard(id)
	at.mu.Lock()
	defer at.mu.Unlock()
	delete(at.slots, id)
	at.forgetLocked(id)
}

// deliver hands an ack or a response to its slot. If no caller waits for it, or it is from an instance that was not asked, it
// goes to stranger.
func (p *pending) deliver(response *wire.Response) {
	if !p.take(response) {
		p.stranger(response)
	}
}

// take hands a message to its slot; false if no caller waits for it.
func (p *pending) take(response *wire.Response) bool {
	at := p.shard(response.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[response.MsgID]
	switch {
	case s == nil || !s.expects(response):
		return false
	case response.OpCode == wire.OpAck:
		return s.acknowledge(response)
	case len(response.Body) > p.limit:
		s.respond(p.lost(response, fragment.TooLarge(int64(len(response.Body)), p.limit)))
	default:
		s.respond(response)
	}
	return true
}

// noteMalformed takes what can be read of a malformed ack or response, and the error of parsing it. A response ends the call at its
// sender: another one does not come.
func (p *pending) noteMalformed(response *wire.Response, err error) {
	at := p.shard(response.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[response.MsgID]
	hasSender := response.FromHost != "" && response.FromID != ""
	switch {
	case s == nil || (hasSender && !s.expects(response)):
	case response.OpCode == wire.OpAck:
		s.spoilAck(err)
	default:
		if part := at.arriving[response.MsgID][senderOf(response)]; part != nil {
			part.giveUp()
		}
		s.noteMalformed(response, malformed(response, err))
	}
}

// malformed is the error of a call whose response cannot be understood. Its text may quote the response.
func malformed(response *wire.Response, err error) *status.Error {
	failed := status.Errorf(http.StatusBadGateway, status.ExecutedUnknown, err, "the response is malformed: %v", err)
	failed.Host, failed.ID, failed.MsgID, failed.Internal = response.FromHost, response.FromID, response.MsgID, true
	return failed
}

// noResponders takes the broker's notice that no instance is there for a request, or for a probe.
func (p *pending) noResponders(id string) {
	if p.shard(id).noResponders(id) {
		return
	}
	p.watching.Lock()
	absent := p.watches[id]
	p.watching.Unlock()
	if absent != nil {
		absent()
	}
}

// noResponders is false if there is no such request.
func (at *shard) noResponders(id string) bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[id]
	if s != nil {
		s.noResponders()
	}
	return s != nil
}

// denied is for all slots: the broker does not say which request it means.
func (p *pending) denied(subject string) {
	for i := range p.shards {
		p.shards[i].denied(subject)
	}
}

func (at *shard) denied(subject string) {
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, each := range at.slots {
		each.denied(subject)
	}
}

// watch has absent called when no instance is there for the probe of that token.
func (p *pending) watch(token string, absent func()) {
	p.watching.Lock()
	defer p.watching.Unlock()
	p.watches[token] = absent
}

func (p *pending) unwatch(token string) {
	p.watching.Lock()
	defer p.watching.Unlock()
	delete(p.watches, token)
}

// cameFrom reports whether a response is from the host, or the instance of it, that was called.
func cameFrom(response *wire.Response, called string) bool {
	return called == subject.HostAll || response.FromHost == called || joins(called, response.FromID, response.FromHost)
}

// joins reports whether a text is two others with a dot between: an instance and its host, a subject and a token.
func joins(text, first, second string) bool {
	return len(text) == len(first)+1+len(second) && text[:len(first)] == first && text[len(first)] == '.' && text[len(first)+1:] == second
}

// pendingCall waits for acks and for one response of an instance that has acked, or of any while none has. An ack does
// not wake the caller. It is used for one call after the other.
type pendingCall struct {
	host    string // as called, with the instance in front when one was addressed
	subject string // of the request
	report  error  // the broker's last report before the call: see permissionviolation.go
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
func (p *pending) newSlot(host string, ackWait time.Duration) *pendingCall {
	s, ok := p.unused.Get().(*pendingCall)
	if !ok {
		s = &pendingCall{news: make(chan struct{}, 1), timer: time.NewTimer(time.Hour), acks: make([]peer, 0, 1)}
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
	return response.OpCode == wire.OpAck || len(s.acks) == 0 || s.believesLocked(senderOf(response))
}

func (s *pendingCall) acknowledge(ack *wire.Response) bool {
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

// unanswered returns the instances that would work in vain if the caller left.
func (s *pendingCall) unanswered() []peer {
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

func (s *pendingCall) spoilAck(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoilt = err
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
	if s.spoilt != nil && failed.Executed == status.ExecutedUnknown {
		failed.Detail += "; a malformed ack was dropped: " + s.spoilt.Error()
		failed.Internal = true
	}
}

// noResponders believes that no instance is there, unless an instance has acked the whole request.
func (s *pendingCall) noResponders() {
	if taker := s.firstTaker(); taker != (peer{}) {
		s.reachesNobody(leftError{taker})
	} else {
		s.reachesNobody(errAbsent)
	}
}

// denied believes that the broker has refused the request, unless an instance has acked it.
func (s *pendingCall) denied(subject string) {
	if subject == s.subject {
		s.reachesNobody(errDenied)
	}
}

func (s *pendingCall) reachesNobody(why error) {
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

// lastWord returns the response if it has come in the meantime, or else why there is none.
func (s *pendingCall) lastWord(err error) (*wire.Response, error) {
	if response, _ := s.outcome(); response != nil {
		return response, nil
	}
	return nil, err
}

// lose notes that an instance that has acked is gone, and reports whether it was the last one.
func (s *pendingCall) lose(gone peer) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acks = slices.DeleteFunc(s.acks, func(ack peer) bool { return ack == gone })
	return len(s.acks) == 0 || (s.departing != nil && s.departing.taker == gone)
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
		failed.Host, failed.ID = takers[0].host, takers[0].id
	}
	return failed
}
