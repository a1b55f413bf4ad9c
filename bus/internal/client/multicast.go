package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Gather makes one multicast call, and yields the outcome at each instance as it comes: a response, or the error for an
// instance that has acked. It returns an error if the call itself has failed. If yield returns false the call ends.
// Gather sends a copy of request, and sets its MsgID and
// TimeBudget.
func (c *Client) Gather(ctx context.Context, request *Outgoing, yield func(*wire.Response, error) bool) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	defer c.calls.Done()
	return c.Ask(ctx, request, yield)
}

// Ask is Gather within a call that has begun, or for a question of the framework itself, which closing does not wait
// for. For such a question the depth of the chain does not matter, as its answer needs no further calls.
func (c *Client) Ask(ctx context.Context, request *Outgoing, yield func(*wire.Response, error) bool) error {
	waiting := c.newMulticast(request, callctx.Budget(ctx))
	defer c.responders.reuse(waiting)
	sent := &waiting.call
	if err := c.prepare(ctx, sent); err != nil {
		return err
	}
	if sent.Address.Port == subject.ControlPort && sent.Address.Path == AllowPath {
		sent.CallDepth = min(sent.CallDepth, wire.MaxCallDepth)
	}
	c.setAttemptHeaders(sent, waiting.ends)
	request.MsgID, request.TimeBudget = sent.MsgID, sent.TimeBudget // for the interceptors
	if err := status.TooLate(ctx, sent.TimeBudget); err != nil {
		return err
	}
	return c.gather(ctx, waiting, yield)
}

// newMulticast returns an unused slot for a call. Each range over a multicast is a call of its own.
func (c *Client) newMulticast(request *Outgoing, budget time.Duration) *pendingMulticast {
	s, ok := c.responders.unused.Get().(*pendingMulticast)
	if !ok {
		s = &pendingMulticast{news: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
		s.timer.Stop()
	}
	s.client, s.call, s.host, s.began = c, *request, request.sender(), time.Now()
	s.call.Header = slices.Clip(s.call.Header) // calls that append fields must not share the array
	s.ends, s.lastAck = s.began.Add(budget), s.began
	return s
}

// reuse takes back a closed slot, to which no reference is left.
func (r *responderCache) reuse(s *pendingMulticast) {
	s.timer.Stop()
	select {
	case <-s.news:
	default:
	}
	clear(s.members)
	clear(s.inbox)
	clear(s.unexpected)
	*s = pendingMulticast{news: s.news, timer: s.timer, members: s.members[:0], inbox: s.inbox[:0],
		unexpected: s.unexpected}
	r.unused.Put(s)
}

// gather sends the request and yields the outcomes until the call ends. It returns an error if the call itself has
// failed.
func (c *Client) gather(ctx context.Context, waiting *pendingMulticast, yield func(*wire.Response, error) bool) error {
	sent := &waiting.call
	before := c.responders.begin(waiting.host, sent.Subject, sent.MsgID)
	waiting.expectAll(before)
	c.pending.open(sent.MsgID, waiting)
	defer c.pending.close(sent.MsgID)
	if err := c.Publish(ctx, sent); err != nil {
		return err
	}
	waiting.probe = multicastProbe{client: c, call: waiting, due: waiting.began.Add(probeInterval),
		outage: c.broker.GraceExpired()}
	left := true // yield has returned false, or has not returned
	defer func() {
		waiting.probe.end()
		if left {
			_, silent := waiting.remainder()
			c.cancelAll(ctx, sent.MsgID, silent)
		}
	}()
	for {
		came, why := waiting.next(ctx)
		switch {
		case why == notEnded && came.ofCall():
			return came.failed
		case why == notEnded && came.yield(yield):
		case why == notEnded:
			return nil
		case why != allAnswered:
			left = false
			return c.stopWaiting(ctx, waiting, why, yield)
		case c.responders.conclude(waiting, before): // the call has seen all responders
			left = false
			return nil
		}
	}
}

// outcome is the result of the call at one instance: a response, or an error.
type outcome struct {
	response *wire.Response
	failed   *status.Error
}

// ofCall reports whether the outcome ends the call: it has reached no instance, or one that cannot be identified.
func (o *outcome) ofCall() bool { return o.failed != nil && o.failed.Host == "" }

func (o *outcome) yield(yield func(*wire.Response, error) bool) bool {
	if o.failed != nil {
		return yield(nil, o.failed)
	}
	return yield(o.response, nil)
}

// stopReason is the reason why a caller stops waiting.
type stopReason int

const (
	notEnded stopReason = iota
	allAnswered
	brokerGone // for longer than the grace of an outage
	timeUp
	callerGone // or the connection closes
)

// next waits for the next outcome, or returns the reason for no more outcomes.
func (s *pendingMulticast) next(ctx context.Context) (outcome, stopReason) {
	for {
		came, now := s.look()
		wake := s.probe.due
		switch {
		case now == hasOutcome:
			return came, notEnded
		case now == isComplete, now == isQuiet && s.confirmQuiet(ctx), now == isKnown:
			return came, allAnswered
		case now == isQuiet:
			continue
		case now == isOpen:
			wake = earlier(wake, s.quietFrom())
		}
		if why := s.sleep(ctx, earlier(wake, s.ends)); why != notEnded {
			return came, why
		}
	}
}

// sleep waits for news, at most until wake.
func (s *pendingMulticast) sleep(ctx context.Context, wake time.Time) stopReason {
	if s.set.IsZero() || wake.Before(s.set) { // else the timer fires early, which costs less than a reset for each answer
		s.timer.Reset(time.Until(wake))
		s.set = wake
	}
	select {
	case <-s.news:
	case <-s.timer.C:
		s.set = time.Time{}
		if !time.Now().Before(s.ends) {
			return timeUp
		}
		s.probe.round()
	case <-s.probe.events():
		s.probe.review()
	case <-s.probe.outage:
		return brokerGone
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return callerGone
		}
		return timeUp
	case <-s.client.config.Base.Done():
		return callerGone
	}
	return notEnded
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// phase is the state of a multicast. A phase after hasOutcome has an empty inbox.
type phase int

const (
	hasOutcome    phase = iota
	hasUnanswered       // an instance has acked and not answered
	isOpen              // all that have acked have answered; others may ack within the quiet period
	isQuiet             // the quiet period is over
	isKnown             // all known responders have answered
	isComplete
)

// look takes the next outcome from the inbox, and returns the state of the call.
func (s *pendingMulticast) look() (came outcome, now phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attributeLocked()
	switch {
	case s.delivered < len(s.inbox):
		came, s.inbox[s.delivered] = s.inbox[s.delivered], outcome{}
		s.delivered++
		return came, hasOutcome
	case s.noSubscriber && s.acked == 0:
		return came, isComplete
	case s.answered < s.acked:
		return came, hasUnanswered
	case s.direct:
		return came, isComplete
	case s.knownAnsweredLocked():
		return came, isKnown
	case time.Now().Before(s.lastAck.Add(s.quietPeriodLocked())):
		return came, isOpen
	case s.acked == 0 && len(s.anonymous) > 0: // all that came is illegible
		return outcome{failed: s.anonymous[0]}, hasOutcome
	default:
		return came, isQuiet
	}
}

// knownAnsweredLocked reports whether the call may end because all known responders have answered.
func (s *pendingMulticast) knownAnsweredLocked() bool {
	return len(s.known) > 0 && s.missing == 0 && !s.direct && !s.unknownResponders
}

// noteUnknownResponders makes the call wait for unknown responders, as an instance has come or gone. It reports whether
// that is a change.
func (s *pendingMulticast) noteUnknownResponders() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.unknownResponders
	s.unknownResponders = before || s.knownAnsweredLocked()
	return s.unknownResponders != before
}

// stopWaiting ends a call that is not complete: it cancels the unanswered instances, and yields the outcomes in the
// inbox. It returns an error if the call itself has failed; at the end of the time budget only instances fail.
func (c *Client) stopWaiting(ctx context.Context, waiting *pendingMulticast, why stopReason,
	yield func(*wire.Response, error) bool) error {
	outcomes, silent := waiting.remainder()
	if why != brokerGone {
		c.cancelAll(ctx, waiting.call.MsgID, silent)
	}
	if why == callerGone {
		return waiting.gaveUp(ctx)
	}
	for _, each := range outcomes {
		if !each.yield(yield) {
			return nil
		}
	}
	if why == brokerGone {
		failed := brokerAway(waiting.call.Address.Host)
		failed.MsgID = waiting.call.MsgID
		return failed
	}
	waiting.timeOut(silent, yield)
	return nil
}

// gaveUp returns the error of a caller that stopped waiting.
func (s *pendingMulticast) gaveUp(ctx context.Context) error {
	why := status.ErrClosed
	if ctx.Err() != nil {
		why = status.ContextEnded(ctx)
	}
	failed := status.MayHaveRun(http.StatusServiceUnavailable, why, "the caller stopped waiting for %s",
		s.call.Address.Host)
	failed.MsgID = s.call.MsgID
	return failed
}

// timeOut yields one error for each unanswered instance.
func (s *pendingMulticast) timeOut(silent []Peer, yield func(*wire.Response, error) bool) {
	for _, ack := range silent {
		failed := status.MayHaveRun(http.StatusGatewayTimeout, status.TimeBudgetSpent(),
			"the instance took the call, and did not answer within the time budget")
		failed.Host, failed.ID, failed.MsgID = ack.Host, ack.ID, s.call.MsgID
		if !yield(nil, failed) {
			return
		}
	}
}

// remainder ends the call, and returns the outcomes in the inbox and the unanswered instances.
func (s *pendingMulticast) remainder() (outcomes []outcome, silent []Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	return s.inbox[s.delivered:], s.unansweredLocked()
}

// end ends the call; ended is false if an ack or a response has come in the meantime. names are the responders that
// have acked, nil if they are the known ones. endsEarly reports whether the quiet period may have been shorter than
// [multicastQuiet].
func (s *pendingMulticast) end() (names map[string]int, endsEarly, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered < s.acked || s.delivered < len(s.inbox) {
		return nil, false, false
	}
	s.ended = true
	if len(s.known) > 0 && s.missing == 0 && len(s.unexpected) == 0 {
		return nil, false, true
	}
	names = make(map[string]int, s.acked)
	for _, places := range []map[string]int{s.known, s.unexpected} {
		for name, at := range places {
			if s.members[at].acked {
				enlist(names, name)
			}
		}
	}
	return names, s.endsEarly && !s.direct && s.acked > 0, true
}
