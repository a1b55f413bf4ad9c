package bus

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// multicast calls every instance that serves the address, and yields the answers as they come. It goes over the broker even
// to instances of this process, so that each gets it once. An instance that has acked and does not answer in time is yielded
// as an error. If no instance is there, nothing is yielded.
func (c *Conn) multicast(ctx context.Context, request *clientCall) iter.Seq2[*wire.Response, error] {
	return func(yield func(*wire.Response, error) bool) {
		c.made.Add(1)
		sent := *request
		sent.Header = slices.Clip(sent.Header) // fields that are added are not seen by other ranges
		x := sent.exchange()
		x.Multicast = true
		stopped := false // nothing must be yielded any more
		counted := func(response *wire.Response, err error) bool {
			if err == nil {
				x.Answers++
				sent.taker = senderOf(response)
			}
			stopped = true // also when the loop over the answers panics
			if err != nil {
				err = asError(err)
			}
			stopped = !yield(response, err)
			return !stopped
		}
		sent.carry = func(ctx context.Context) error {
			if stopped {
				return nil // an interceptor has called next again
			}
			return c.collect(ctx, &sent, counted)
		}
		err := c.calling(ctx, x)
		switch {
		case stopped:
		case err != nil:
			yield(nil, x.failed(err))
		case x.answeredByInterceptor():
			yield(x.Response, nil)
		}
	}
}

// collect is a multicast that has passed through the interceptors. What befalls an instance is yielded; an error is returned
// if the call itself has failed, so that the interceptors see it, too.
func (c *Conn) collect(ctx context.Context, request *clientCall, yield func(*wire.Response, error) bool) error {
	if err := c.beginCall(ctx); err != nil {
		return err
	}
	defer c.calls.Done()
	waiting := c.responders.newSlot(c, request, callctx.Budget(ctx))
	defer c.responders.reuse(waiting)
	sent := &waiting.call
	if err := c.prepare(ctx, sent); err != nil {
		return err
	}
	c.setAttemptHeaders(sent, waiting.ends)
	request.MsgID = sent.MsgID // for the interceptors
	if err := status.TooLate(ctx, sent.TimeBudget); err != nil {
		return err
	}
	return c.gather(ctx, waiting, yield)
}

// newSlot returns an unused slot for a call. Each range over a multicast is a call of its own.
func (r *responderCache) newSlot(c *Conn, request *clientCall, budget time.Duration) *pendingMulticast {
	s, ok := r.unused.Get().(*pendingMulticast)
	if !ok {
		s = &pendingMulticast{news: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
		s.timer.Stop()
	}
	s.conn, s.call, s.host, s.began = c, *request, answeredBy(request.address), time.Now()
	s.call.Header = slices.Clip(s.call.Header) // fields that are added are not seen by other calls
	s.ends, s.lastAck = s.began.Add(budget), s.began
	return s
}

// reuse takes back a slot that is closed, so that nothing refers to it any more.
func (r *responderCache) reuse(s *pendingMulticast) {
	s.timer.Stop()
	select {
	case <-s.news:
	default:
	}
	clear(s.members)
	clear(s.inbox)
	clear(s.strangers)
	*s = pendingMulticast{news: s.news, timer: s.timer, members: s.members[:0], inbox: s.inbox[:0], strangers: s.strangers}
	r.unused.Put(s)
}

// gather sends the request and yields the answers until the call has ended, or returns why it has failed.
func (c *Conn) gather(ctx context.Context, waiting *pendingMulticast, yield func(*wire.Response, error) bool) error {
	sent := &waiting.call
	before := c.responders.begin(waiting.host, sent.subject, sent.MsgID)
	waiting.expectAll(before)
	c.pending.open(sent.MsgID, waiting)
	defer c.pending.close(sent.MsgID)
	if err := c.nats.send(ctx, sent); err != nil {
		return err
	}
	waiting.probe = multicastProbe{conn: c, slot: waiting, due: waiting.began.Add(probeInterval), outage: c.broker.GraceExpired()}
	left, noted := true, false // left: by whoever ranges over the answers, with break, return or a panic
	defer func() {
		waiting.probe.end()
		if left {
			_, silent := waiting.remainder()
			c.cancelAll(ctx, sent, silent)
		}
	}()
	for {
		came, why := waiting.next(ctx)
		if !noted && (came.response != nil || why != goesOn) {
			c.callees.note(sent.address, came.response)
			noted = true
		}
		switch {
		case why == goesOn && came.ofCall():
			return came.failed
		case why == goesOn && came.yield(yield):
		case why == goesOn:
			return nil
		case why != allAnswered:
			left = false
			return c.stopWaiting(ctx, waiting, why, yield)
		case c.responders.conclude(waiting, before): // only now has it seen all responders
			left = false
			return nil
		}
	}
}

// outcome is the result of the call at one instance: a response, or why there will be none.
type outcome struct {
	response *wire.Response
	failed   *status.Error
}

// ofCall reports whether it is not that of an instance: the call has reached none.
func (o *outcome) ofCall() bool { return o.failed != nil && o.failed.Host == "" }

func (o *outcome) yield(yield func(*wire.Response, error) bool) bool {
	if o.failed != nil {
		return yield(nil, o.failed)
	}
	return yield(o.response, nil)
}

// ending is why a caller stops waiting.
type ending int

const (
	goesOn ending = iota
	allAnswered
	brokerGone // for longer than calls wait
	timeUp
	callerGone // or the connection closes
)

// next waits for the next outcome, or returns why there will be no more.
func (s *pendingMulticast) next(ctx context.Context) (outcome, ending) {
	for {
		came, now := s.look()
		wake := s.probe.due
		switch {
		case now == hasOutcome:
			return came, goesOn
		case now == isComplete, now == isQuiet && s.believes(ctx), now == isKnown && !s.mayBeGreeted():
			return came, allAnswered
		case now == isKnown:
			wake = earlier(wake, time.Now().Add(time.Millisecond))
		case now == isQuiet:
			continue
		case now == isOpen:
			wake = earlier(wake, s.quietFrom())
		}
		if why := s.sleep(ctx, earlier(wake, s.ends)); why != goesOn {
			return came, why
		}
	}
}

// sleep returns when there is something to look at, after wake at the latest.
func (s *pendingMulticast) sleep(ctx context.Context, wake time.Time) ending {
	if s.set.IsZero() || wake.Before(s.set) { // else it fires early, which costs less than setting it for each answer
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
	case <-s.probe.badNews():
		s.probe.review()
	case <-s.probe.outage:
		return brokerGone
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return callerGone
		}
		return timeUp
	case <-s.conn.base.Done():
		return callerGone
	}
	return goesOn
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// progress is the state of a multicast.
type progress int

const (
	hasOutcome progress = iota
	isOwed              // an instance has acked and not answered: only news, a lost instance or the end matters
	isOpen              // all that have acked have answered; there may be others
	isQuiet             // there seem to be no others
	isKnown             // all that answered the last time have done so again
	isComplete
)

// look takes the next outcome out of the inbox, or returns the state of the call.
func (s *pendingMulticast) look() (came outcome, now progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.taken < len(s.inbox):
		came, s.inbox[s.taken] = s.inbox[s.taken], outcome{}
		s.taken++
		return came, hasOutcome
	case s.noSubscriber && s.acked == 0:
		return came, isComplete
	case s.answered < s.acked:
		return came, isOwed
	case s.direct:
		return came, isComplete
	case s.reliesLocked():
		return came, isKnown
	case time.Now().Before(s.lastAck.Add(s.silenceLocked())):
		return came, isOpen
	default:
		return came, isQuiet
	}
}

// reliesLocked reports whether the call ends because those who were known have answered.
func (s *pendingMulticast) reliesLocked() bool {
	return len(s.known) > 0 && s.missing == 0 && !s.direct && !s.doubts
}

// doubt makes the call wait for others than the known responders, as an instance has come or gone; false if it does so anyway.
func (s *pendingMulticast) doubt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.doubts
	s.doubts = before || s.reliesLocked()
	return s.doubts != before
}

// mayBeGreeted reports whether a request of the framework is being handled, which may be a greeting.
func (s *pendingMulticast) mayBeGreeted() bool {
	_, working := s.conn.controls.Count()
	return working > 0
}

// stopWaiting yields what is missing to the caller, and tells the handlers that still run that no caller waits for them. It
// returns why the call has failed, nil if only instances have.
func (c *Conn) stopWaiting(ctx context.Context, waiting *pendingMulticast, why ending, yield func(*wire.Response, error) bool) error {
	outcomes, silent := waiting.remainder()
	if why != brokerGone {
		c.cancelAll(ctx, &waiting.call, silent)
	}
	switch why {
	case brokerGone:
		return waiting.cutOff(outcomes, yield)
	case callerGone:
		return waiting.gaveUp(ctx)
	default:
		waiting.timeOut(outcomes, silent, yield)
		return nil
	}
}

// gaveUp is the error when the caller stopped waiting.
func (s *pendingMulticast) gaveUp(ctx context.Context) error {
	why := status.ErrClosed
	if ctx.Err() != nil {
		why = status.ContextEnded(ctx)
	}
	failed := status.Errorf(http.StatusServiceUnavailable, status.ExecutedUnknown, why, "the caller stopped waiting for %s", s.call.address.Host)
	failed.MsgID = s.call.MsgID
	return failed
}

// timeOut yields what has come in the last moment, and one error for each instance that acked and did not answer.
func (s *pendingMulticast) timeOut(outcomes []outcome, silent []peer, yield func(*wire.Response, error) bool) {
	for _, came := range outcomes {
		if !came.yield(yield) {
			return
		}
	}
	for _, ack := range silent {
		failed := status.Errorf(http.StatusGatewayTimeout, status.ExecutedUnknown, status.TimeBudgetSpent(), "the instance took the call, and did not answer within the time budget")
		failed.Host, failed.ID, failed.MsgID = ack.host, ack.id, s.call.MsgID
		if !yield(nil, failed) {
			return
		}
	}
}

// cutOff yields what has come before the broker went away, and returns that it has.
func (s *pendingMulticast) cutOff(outcomes []outcome, yield func(*wire.Response, error) bool) error {
	for _, each := range outcomes {
		if !each.yield(yield) {
			return nil
		}
	}
	failed := outlasted(s.call.address.Host)
	failed.MsgID = s.call.MsgID
	return failed
}

// remainder ends the call and returns the outcomes that were not taken yet, and the instances that owe one.
func (s *pendingMulticast) remainder() (outcomes []outcome, silent []peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	return s.inbox[s.taken:], s.owed()
}

// seal ends the call; ended is false if an instance has turned up in the meantime. names are those who have acked, nil if they
// are the ones that were known. hasty says that the call has ended before it had been quiet for long.
func (s *pendingMulticast) seal() (names map[string]int, hasty, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered < s.acked || s.taken < len(s.inbox) {
		return nil, false, false
	}
	s.sealed = true
	if len(s.known) > 0 && s.missing == 0 && len(s.strangers) == 0 {
		return nil, false, true
	}
	names = make(map[string]int, s.acked)
	for _, places := range []map[string]int{s.known, s.strangers} {
		for name, at := range places {
			if s.members[at].acked {
				enlist(names, name)
			}
		}
	}
	return names, s.hasty && !s.direct && s.acked > 0, true
}
