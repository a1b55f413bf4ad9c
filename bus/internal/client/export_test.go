package client

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Responders is the cache of the responders of one host.
type Responders struct{ cache *responderCache }

// MaxKnownSubjects bounds the subjects of which the cache knows the responders.
const MaxKnownSubjects = maxKnownSubjects

// NewResponders returns an empty cache.
func NewResponders() *Responders { return &Responders{newResponderCache("bus", NewMembership())} }

// Begin begins a multicast with an id to a subject, and returns its end, which takes the responders.
func (r *Responders) Begin(subject, id string) (end func(names ...string)) {
	before := r.cache.begin("host", subject, id)
	return func(names ...string) {
		answered := make(map[string]int)
		for _, name := range names {
			enlist(answered, name+".host")
		}
		r.cache.mu.Lock()
		defer r.cache.mu.Unlock()
		r.cache.replaceLocked(subject, before, answered)
	}
}

// Subjects returns the number of subjects with known responders, in the cache and in its entry for the host.
func (r *Responders) Subjects() (known, ofHost int) {
	return len(r.cache.known), len(r.cache.hosts["host"].subjects)
}

// Late takes an ack of a multicast that has ended.
func (r *Responders) Late(id, name string) {
	r.cache.late(&wire.Response{OpCode: wire.OpAck, MsgID: id, FromID: name, FromHost: "host", Queue: name + ".host"})
}

// Greet takes a greeting of the host.
func (r *Responders) Greet() { r.cache.greeted(Peer{"host", "newcomer"}, true) }

// Names returns the known responders of a subject, sorted.
func (r *Responders) Names(subject string) (names []string) {
	for name := range r.cache.begin("host", subject, "names").names {
		names = append(names, strings.TrimSuffix(name, ".host"))
	}
	slices.Sort(names)
	return names
}

// MaxMembers bounds the marks of a Membership.
const MaxMembers = maxMembers

// Add adds an instance.
func (c *Membership) Add(plane string, at Peer) { c.add(plane, at) }

// Remove removes an instance.
func (c *Membership) Remove(plane string, at Peer) { c.remove(plane, at) }

// Covered reports whether the host has known instances, and all of them are in by.
func (c *Membership) Covered(plane, host string, by ...Peer) bool { return c.covered(plane, host, by) }

// Reduce forgets the instances of the host that are not in to.
func (c *Membership) Reduce(plane, host string, to ...Peer) { c.reduce(plane, host, to) }

// Clear forgets all instances.
func (c *Membership) Clear() { c.clear() }

// Marks returns the number of marks.
func (c *Membership) Marks() int { return len(c.marks) }

// Gathering is the caller's side of multicasts to a host, without a broker.
type Gathering struct {
	client  *Client
	request *Outgoing
	acks    []*wire.Response
	replies []*wire.Response
}

// NewGathering returns a gathering with a number of instances.
func NewGathering(instances int) *Gathering {
	address := subject.Address{Port: 444, Host: "calculator.example", Method: "POST", Path: "/add"}
	to, _ := address.Subject("bus")
	g := &Gathering{
		client: New(Config{
			Host: "caller.example", ID: "a1aaaaaaaa", Plane: "bus", MaxMessage: 1 << 20,
			Membership: NewMembership(), Base: context.Background(), Controls: worker.NewLimiter(0),
		}),
		request: &Outgoing{Address: address, Subject: to},
	}
	for i := range instances {
		ack := wire.Response{OpCode: wire.OpAck, FromHost: address.Host, FromID: "i" + strconv.Itoa(i), MsgID: "m1"}
		reply := ack
		reply.OpCode = wire.OpRes
		g.acks, g.replies = append(g.acks, &ack), append(g.replies, &reply)
	}
	g.client.responders.patient = true // an early end asks the broker
	return g
}

// Call makes a multicast that all instances ack and answer, and returns how many answers the caller takes.
func (g *Gathering) Call(ctx context.Context, id string) (answers int) {
	r := g.client.responders
	s := g.client.newMulticast(g.request, wire.DefaultTimeBudget)
	defer r.reuse(s)
	s.call.MsgID = id
	before := r.begin(s.host, s.call.Subject, id)
	s.expectAll(before)
	s.probe = multicastProbe{client: g.client, call: s, due: s.ends}
	for i := range g.acks {
		s.acknowledge(g.acks[i])
		s.respond(g.replies[i])
	}
	for range g.acks {
		if came, why := s.next(ctx); why == notEnded && came.response != nil {
			answers++
		}
	}
	r.conclude(s, before)
	return answers
}

// Pending holds the slots of the requests that wait for an answer.
type Pending = pending

// PendingCall is the slot of a unicast call.
type PendingCall = pendingCall

// NewPending returns a Pending without slots, for responses of at most limit bytes.
func NewPending(unexpected func(*wire.Response), encode func(*status.Error) *wire.Response, limit int) *Pending {
	return newPending(unexpected, encode, limit, stream.NewMemory(16*int64(limit)))
}

// MaxPending is how many calls may wait.
const MaxPending = 16 * maxInShard

// Open opens the slot of a request to a subject of a host. The request is in parts if inParts is true.
func (p *pending) Open(id, host, subject string, inParts bool) *PendingCall {
	s := p.newCall(host, id, time.Second)
	s.subject = subject
	if inParts {
		s.upload = &upload{plan: stream.Plan{Count: 2}, takers: make(chan Peer, 1)}
	}
	if p.list(s, id) != nil {
		return nil
	}
	return s
}

// Close closes a slot.
func (p *pending) Close(id string) { p.close(id) }

// CloseCall closes the slot of a unicast call.
func (p *pending) CloseCall(s *PendingCall) { p.closeCall(s) }

// Deliver takes a message: an ack, a response, or, if size is not 0, a part of a response that has size bytes.
func (p *pending) Deliver(message *wire.Response, size int) {
	if size != 0 {
		p.deliverPart(message, size)
	} else {
		p.deliver(message)
	}
}

// NoteMalformed takes a malformed message.
func (p *pending) NoteMalformed(message *wire.Response, err error) { p.noteMalformed(message, err) }

// NoResponders takes the notice that no instance subscribes.
func (p *pending) NoResponders(id string) { p.noResponders(id) }

// Denied takes the notice that the broker denies a subject.
func (p *pending) Denied(subject string) { p.denied(subject) }

// Watch registers the call of absent for a token.
func (p *pending) Watch(token string, absent func()) { p.watch(token, absent) }

// Unwatch removes a token.
func (p *pending) Unwatch(token string) { p.unwatch(token) }

// BytesHeld returns the bytes held by the parts of responses.
func (p *pending) BytesHeld() int { return p.memory.BytesHeld() }

// ExpectReminder registers a call to be reminded.
func (p *pending) ExpectReminder(s *PendingCall) { p.reminder.expect(s, s.msgID) }

// IsReminding reports whether another round of reminders is scheduled.
func (p *pending) IsReminding() bool { return p.reminder.scheduled.Load() }

// ReminderInterval and RemindedAfter are the time between two rounds, and the longest time until the second one.
const (
	ReminderInterval = reminderInterval
	RemindedAfter    = remindedAfter
)

// Outcome returns the response, or the error.
func (s *pendingCall) Outcome() (*wire.Response, error) { return s.outcome() }

// News returns the channel that wakes the caller.
func (s *pendingCall) News() <-chan struct{} { return s.news }

// Acks returns the instances that have acked.
func (s *pendingCall) Acks() []Peer { return s.unanswered() }

// Lose notes that an instance is gone, and reports whether it was the last one.
func (s *pendingCall) Lose(gone Peer) bool { return s.lose(gone) }

// Explain adds a malformed ack to the error of the call.
func (s *pendingCall) Explain(failed *status.Error) { s.explain(failed) }

// GaveUp returns the error of a caller that stopped waiting.
func (s *pendingCall) GaveUp(ctx context.Context) error { return s.gaveUp(ctx) }

// ErrNoSubscriber and ErrDenied are the outcomes of a request that has reached no instance.
var (
	ErrNoSubscriber = errNoSubscriber
	ErrDenied       = errDenied
)

// LeftError is the outcome of a request whose receiver is gone before the second part.
func LeftError(receiver Peer) error { return leftError{receiver} }

// Backoff decides when a request is sent again.
type Backoff = backoff

// NewBackoff returns the backoff of a request that has reached no instance.
func NewBackoff() *Backoff { return newBackoff() }

// Pause waits before the next attempt, and reports whether there is one.
func (b *backoff) Pause(ctx context.Context, known bool, ends time.Time) bool {
	return b.pause(ctx, known, ends)
}

// Restart notes that an instance has taken the first part, and is gone.
func (b *backoff) Restart(left Peer) { b.restart(left) }

// FirstPause, LongestPause and ReplaceWindow bound the attempts.
const (
	FirstPause    = firstPause
	LongestPause  = longestPause
	ReplaceWindow = replaceWindow
)

// UnicastProbe checks from time to time whether an ack has come, and whether the instance is still there.
type UnicastProbe = unicastProbe

// ProbeInterval is the time between two questions.
const ProbeInterval = probeInterval

// NewUnicastProbe returns the probe of a call that has been sent to a host. ack acknowledges it.
func (c *Client) NewUnicastProbe(host string, ackWait time.Duration,
	local bool) (probe *UnicastProbe, ack func(from Peer)) {
	s := c.pending.newCall(host, "id", ackWait)
	return &unicastProbe{client: c, call: s, local: local}, func(from Peer) {
		s.acknowledge(&wire.Response{OpCode: wire.OpAck, FromHost: from.Host, FromID: from.ID})
	}
}

// First returns when the first round is due.
func (p *unicastProbe) First() time.Duration { return p.first() }

// Round makes the checks that are due, and returns when the next round is.
func (p *unicastProbe) Round() (time.Duration, error) { return p.round() }

// Review evaluates the broker's answers.
func (p *unicastProbe) Review() (next time.Duration, gone *Peer) { return p.review() }

// Events returns the channel of the broker's answers.
func (p *unicastProbe) Events() <-chan struct{} { return p.events() }

// PublishParts publishes a request as if the broker had just refused it as too large. inParts reports whether more
// parts follow.
func (c *Client) PublishParts(ctx context.Context, request *Outgoing) (inParts bool, err error) {
	if err := c.prepare(ctx, request); err != nil {
		return false, err
	}
	c.setAttemptHeaders(request, time.Now().Add(wire.DefaultTimeBudget))
	request.waiting = c.pending.newCall(request.sender(), request.MsgID, c.config.AckWait)
	err = c.publishParts(ctx, request)
	return request.waiting.upload != nil, err
}
