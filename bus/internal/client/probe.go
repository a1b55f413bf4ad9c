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

// A caller that has an ack and waits asks the broker now and then whether the instance is still there: by a message
// without a body to its response subject, with a reply subject of its own. An instance that is alive ignores the message.
// When it has died the broker has forgotten its subscriptions, and says on the reply subject that no instance is there.
//
// The first such answer is not believed, as it also comes while an instance reconnects.
const (
	probeInterval = time.Second            // between two questions
	probeAgain    = 400 * time.Millisecond // between the first answer that says so and the next question
)

// probe asks whether the instances that owe one caller an answer are still there. It is made when the first question is
// due, which few calls see. All its methods but absent are called only by the caller.
type probe struct {
	client *Client
	news   chan struct{} // room for one: the broker has said that an instance is not there

	mu    sync.Mutex // protects asked, and what it holds
	asked map[Peer]*question
}

// question is what one instance was asked last. The token is its reply subject, as hard to guess as a message id.
type question struct {
	token       string
	noResponder bool // the broker has reported no responders to it
	suspect     bool // the broker has reported no responders to the question before
}

func (c *Client) newProbe() *probe {
	return &probe{client: c, news: make(chan struct{}, 1), asked: make(map[Peer]*question)}
}

// ask asks for each instance whether it is there. One that was there the last time is no longer a suspect.
func (p *probe) ask(instances []Peer) {
	for _, instance := range instances {
		// host and id come from a message, and become part of a subject
		if subject.CheckHost(instance.Host) != nil || subject.CheckID(instance.ID) != nil {
			continue
		}
		token := p.renew(instance)
		to := subject.Response(p.client.config.Plane, instance.Host, instance.ID)
		if p.client.broker.Denies(to) {
			continue // no probe can be sent: wait for the answer
		}
		if err := p.client.broker.PublishNow(to, p.client.response+"."+token, nil); err != nil {
			p.client.log(p.client.config.Logger.Debug().Err(err).Str("callee", instance.ID+"."+instance.Host),
				"cannot ask the broker whether the instance is still there")
		}
	}
}

// renew makes the token of the next question.
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

// absent takes the broker's answer, on the goroutine that reads it.
func (p *probe) noResponders(to *question) {
	p.mu.Lock()
	to.noResponder = true
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// review returns who is lost, and whether another instance has to be asked again soon.
func (p *probe) review() (lost []Peer, suspects bool) {
	settling := p.client.broker.IsSettling() // many are back later than this process
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

// forgetLocked ends a question.
func (p *probe) forgetLocked(instance Peer, asked *question) {
	p.client.pending.unwatch(asked.token)
	delete(p.asked, instance)
}

// end forgets all questions. There may be no prober at all.
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

// events returns the channel of news, nil when there is no prober.
func (p *probe) events() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.news
}

// instanceLost is the error for an instance that has acked and is gone. It is a 504, as when no answer comes in time: the
// request has been taken, and may have run, which 503 would deny to a caller that sees only the status.
func instanceLost(gone Peer, msgID string) *status.Error {
	failed := status.Errorf(http.StatusGatewayTimeout, status.ExecutedUnknown, status.ErrInstanceLost,
		"%s.%s took the call, and is gone", gone.ID, gone.Host)
	failed.Host, failed.ID, failed.MsgID = gone.Host, gone.ID, msgID
	return failed
}

// unicastProbe is what a caller checks from time to time while it waits: whether an ack has come in time, and then
// whether the instance that acked is still there. One timer does for both, and it ends few calls.
type unicastProbe struct {
	client *Client
	call   *pendingCall
	local  bool // the call has stayed in the process: the instance that acked is there

	pause  time.Duration // until the next round
	waited time.Duration // in all rounds
	*probe               // nil before the first question
}

// first returns when the first round is due.
func (p *unicastProbe) first() time.Duration {
	p.waited = p.call.waited
	p.pause = min(p.call.ackWait, probeInterval) - p.waited
	return p.pause
}

// round makes the checks that are due, and returns when the next round is.
func (p *unicastProbe) round() (time.Duration, error) {
	p.waited += p.pause
	switch acked := p.call.acked(); {
	case !acked && !p.local && p.client.broker.IsSettling():
		p.pause = probeInterval // no ack can have come; the end of the outage, or of its grace, decides
	case !acked && p.client.broker.DeniedSince(p.call.report, p.call.subject):
		return 0, p.client.broker.Forbidden(p.call.subject)
	case !acked && p.waited >= p.call.ackWait:
		return 0, status.Errorf(http.StatusServiceUnavailable, status.ExecutedUnknown, status.ErrNoAck,
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

func (p *unicastProbe) askInstances() {
	if p.local {
		return
	}
	if p.probe == nil {
		p.probe = p.client.newProbe()
	}
	p.ask(p.call.unanswered())
}

// review looks at the broker's answers, and returns when the next round is due, or the last instance if that is lost.
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

// reminder wakes callers that have waited for a while. Most have their outcome by then, and have needed no timer of their
// own.
type reminder struct {
	callers   *pending
	scheduled atomic.Bool // there is a next round
}

const (
	// reminderInterval is the time between two rounds, while a caller waits for one.
	reminderInterval = 10 * time.Millisecond

	// remindedAfter is after how long a caller is woken, in the second round: up to one interval earlier if others wait already.
	remindedAfter = 2 * reminderInterval
)

// isRemindable reports whether a caller has enough time left to be reminded, and waits long enough for an ack that an interval
// more or less makes no difference. A caller with parts to send has something else to wait for.
func (s *pendingCall) isRemindable(left time.Duration) bool {
	return s.fragments == nil && left > remindedAfter && s.ackWait > 10*remindedAfter
}

// reminders are the message ids of calls to be woken in the next round, and in the one after it. The calls may have ended
// since. The lock of their shard protects them.
type reminders struct{ next, later []string }

// expect registers a call to be reminded.
func (r *reminder) expect(id string) {
	at := r.callers.shard(id)
	at.mu.Lock()
	at.reminders.later = append(at.reminders.later, id)
	at.mu.Unlock()
	r.start()
}

func (r *reminder) start() {
	if !r.scheduled.Load() && r.scheduled.CompareAndSwap(false, true) {
		time.AfterFunc(reminderInterval, r.tick)
	}
}

func (r *reminder) tick() {
	for i := range r.callers.shards {
		r.callers.shards[i].remind()
	}
	if r.hasReminders() {
		time.AfterFunc(reminderInterval, r.tick)
		return
	}
	r.scheduled.Store(false)
	if r.hasReminders() { // by a caller that came in between and found it going
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

// remind wakes the callers that have waited for a whole interval.
func (at *shard) remind() {
	at.mu.Lock()
	defer at.mu.Unlock()
	due := at.reminders.next
	for _, id := range due {
		if waits, ok := at.slots[id].(*pendingCall); ok {
			waits.remind()
		}
	}
	clear(due)
	at.reminders = reminders{next: at.reminders.later, later: due[:0]}
}

func (s *pendingCall) remind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeLocked()
}
