package client

import (
	"crypto/rand"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
)

// A caller that waits after an ack asks the broker every probeInterval whether the instance is still there. It
// publishes an empty message with a reply subject to the response subject of the instance, which ignores it. If the
// instance is gone the broker has removed its subscriptions, and reports no responders on the reply subject.
//
// One such report makes the instance a suspect, as it may be reconnecting. A second one in a row means that the
// instance is lost.
const (
	probeInterval = time.Second            // between two questions
	probeAgain    = 400 * time.Millisecond // between the report that makes a suspect and the next question
)

// probe asks whether the unanswered instances of one call are still there. It is made for the first question, which few
// calls need. Only the caller uses its methods, except noResponders.
type probe struct {
	client *Client
	news   chan struct{} // buffer of one; a value stands for new reports

	mu    sync.Mutex // protects asked and the questions
	asked map[Peer]*question
}

// question is the latest question for one instance. The token ends the reply subject, and is as hard to guess as a
// message id.
type question struct {
	token       string
	noResponder bool // the broker has reported no responders to it
	suspect     bool // the broker has reported no responders to the question before
}

func (c *Client) newProbe() *probe {
	return &probe{client: c, news: make(chan struct{}, 1), asked: make(map[Peer]*question)}
}

// ask asks the broker for each instance. An instance without a report since the question before is not a suspect any
// more.
func (p *probe) ask(instances []Peer) {
	for _, instance := range instances {
		// host and id come from a message, and become part of a subject
		if subject.CheckHost(instance.Host) != nil || subject.CheckID(instance.ID) != nil {
			continue
		}
		token := p.renew(instance)
		to := subject.Response(p.client.config.Plane, instance.Host, instance.ID)
		if p.client.broker.Denies(to) {
			continue // without a probe only an answer or the end of the call matters
		}
		if err := p.client.broker.PublishNow(to, p.client.response+"."+token, nil); err != nil {
			p.client.log(p.client.config.Logger.Debug().Err(err).Str("callee", instance.ID+"."+instance.Host),
				"cannot ask the broker whether the instance is still there")
		}
	}
}

// renew replaces the question for an instance, and returns the new token.
func (p *probe) renew(instance Peer) (token string) {
	token = rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	before, next := p.asked[instance], &question{token: token}
	if before != nil {
		p.client.pending.unwatch(before.token)
		next.suspect = before.noResponder
	}
	p.asked[instance] = next
	p.client.pending.watch(token, func() { p.noResponders(next) })
	return token
}

// noResponders takes the broker's report, on the goroutine that reads from the broker.
func (p *probe) noResponders(to *question) {
	p.mu.Lock()
	to.noResponder = true
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// review returns the lost instances, and reports whether there are suspects to ask for again soon.
func (p *probe) review() (lost []Peer, suspects bool) {
	settling := p.client.broker.IsSettling() // other instances may come back later than this one
	p.mu.Lock()
	defer p.mu.Unlock()
	for instance, asked := range p.asked {
		switch {
		case settling:
			asked.noResponder = false
		case asked.noResponder && asked.suspect:
			lost = append(lost, instance)
			p.forgetLocked(instance, asked)
		case asked.noResponder:
			suspects = true
		}
	}
	return lost, suspects
}

// forgetLocked removes a question.
func (p *probe) forgetLocked(instance Peer, asked *question) {
	p.client.pending.unwatch(asked.token)
	delete(p.asked, instance)
}

// end removes all questions. p may be nil.
func (p *probe) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for instance, asked := range p.asked {
		p.forgetLocked(instance, asked)
	}
}

// events returns the channel of news; nil if p is nil.
func (p *probe) events() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.news
}

// instanceLost is the error for an instance that has acked and is gone. Its status is 504, as for an answer that does
// not come in time: the request may have been executed. To a caller that sees only the status, 503 would say that it
// has not.
func instanceLost(gone Peer, msgID string) *status.Error {
	failed := status.MayHaveRun(http.StatusGatewayTimeout, status.ErrInstanceLost,
		"%s.%s took the call, and is gone", gone.ID, gone.Host)
	failed.Host, failed.ID, failed.MsgID = gone.Host, gone.ID, msgID
	return failed
}

// unicastProbe checks from time to time whether an ack has come in time, and then whether the instance that acked is
// still there. Both checks share the timer of the call. Only the caller uses it.
type unicastProbe struct {
	client *Client
	call   *pendingCall
	local  bool // the call stayed in the process, so that the instance is there

	pause  time.Duration // until the next round
	waited time.Duration // since the request was sent
	*probe               // nil before the first question
}

// first returns the time until the first round.
func (p *unicastProbe) first() time.Duration {
	p.waited = p.call.waited
	p.pause = min(p.call.ackWait, probeInterval) - p.waited
	return p.pause
}

// round makes the checks that are due, and returns the time until the next round, or the error that ends the call.
func (p *unicastProbe) round() (time.Duration, error) {
	p.waited += p.pause
	switch acked := p.call.acked(); {
	case !acked && !p.local && p.client.broker.IsSettling():
		p.pause = probeInterval // no ack can come during an outage; the end of the outage or of its grace decides
	case !acked && p.client.broker.DeniedSince(p.call.report, p.call.subject):
		return 0, p.client.broker.Forbidden(p.call.subject)
	case !acked && p.waited >= p.call.ackWait:
		return 0, status.MayHaveRun(http.StatusServiceUnavailable, status.ErrNoAck,
			"no ack from %s within %s", p.call.host, p.call.ackWait)
	case !acked:
		p.pause = min(p.call.ackWait-p.waited, probeInterval)
	case p.waited < probeInterval:
		p.pause = probeInterval - p.waited
	default:
		p.pause = probeInterval
		p.askInstances()
	}
	return p.pause, nil
}

// askInstances asks for the instances that have acked.
func (p *unicastProbe) askInstances() {
	if p.local {
		return
	}
	if p.probe == nil {
		p.probe = p.client.newProbe()
	}
	p.ask(p.call.unanswered())
}

// review evaluates the broker's reports. It returns the time until the next round, or the instance whose loss ends the
// call.
func (p *unicastProbe) review() (next time.Duration, gone *Peer) {
	lost, suspects := p.probe.review()
	for _, instance := range lost {
		if p.call.lose(instance) {
			return 0, &instance
		}
	}
	if suspects {
		p.pause = probeAgain
	}
	return p.pause, nil
}

// reminder wakes callers that have waited for a while, so that calls with an early outcome need no timer of their own.
type reminder struct {
	callers   *pending
	scheduled atomic.Bool // there is a next round
}

const (
	// reminderInterval is the time between two rounds, as long as calls are registered.
	reminderInterval = 10 * time.Millisecond

	// remindedAfter is the time until a caller is woken, in the second round: up to one interval less if rounds are
	// already scheduled.
	remindedAfter = 2 * reminderInterval
)

// isRemindable reports whether the reminder may replace the timer at first: the time budget is long enough, and an
// interval makes no difference to the ack wait. A caller that sends parts waits for the receiver, too.
func (s *pendingCall) isRemindable(left time.Duration) bool {
	return s.upload == nil && left > remindedAfter && s.ackWait > 10*remindedAfter
}

// reminders are the calls to wake in the next round, and in the round after it. They may have ended. The lock of the
// shard protects the reminders.
type reminders struct{ next, later []reminded }

// reminded is an attempt to call; its slot may be that of another one by now.
type reminded struct {
	call  *pendingCall
	msgID string
}

// expect registers a call to wake.
func (r *reminder) expect(call *pendingCall, msgID string) {
	at := r.callers.shard(msgID)
	at.mu.Lock()
	at.reminders.later = append(at.reminders.later, reminded{call, msgID})
	at.mu.Unlock()
	r.start()
}

// start schedules the first round, unless a round is scheduled.
func (r *reminder) start() {
	if !r.scheduled.Load() && r.scheduled.CompareAndSwap(false, true) {
		time.AfterFunc(reminderInterval, r.tick)
	}
}

// tick is one round.
func (r *reminder) tick() {
	for i := range r.callers.shards {
		r.callers.shards[i].remind()
	}
	if r.hasReminders() {
		time.AfterFunc(reminderInterval, r.tick)
		return
	}
	r.scheduled.Store(false)
	if r.hasReminders() { // of a call that was registered in between, and found a round scheduled
		r.start()
	}
}

func (r *reminder) hasReminders() bool {
	for i := range r.callers.shards {
		if r.callers.shards[i].hasReminders() {
			return true
		}
	}
	return false
}

func (at *shard) hasReminders() bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	return len(at.reminders.next)+len(at.reminders.later) > 0
}

// remind wakes the callers that were registered before the last round.
func (at *shard) remind() {
	at.mu.Lock()
	defer at.mu.Unlock()
	due := at.reminders.next
	for _, each := range due {
		each.call.remind(each.msgID)
	}
	clear(due)
	at.reminders = reminders{next: at.reminders.later, later: due[:0]}
}

func (s *pendingCall) remind(msgID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.msgID == msgID {
		s.wakeLocked()
	}
}
