package bus

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/busline/busline/bus/wire"
)

// attempt sends a request once, under an id of its own, and waits until the call ends.
func (c *Conn) attempt(ctx context.Context, sent *outgoing, ends time.Time) (*wire.Response, error) {
	c.stamp(sent, ends)
	if err := tooLate(ctx, sent.TimeBudget); err != nil {
		return nil, err
	}
	waiting := c.pending.newSlot(answeredBy(sent.address), c.ackWait)
	waiting.subject, waiting.report = sent.subject, c.link.givenReport()
	sent.waiting = waiting
	c.pending.open(sent.MsgID, waiting)
	defer func() {
		sent.waiting = nil
		c.pending.close(sent.MsgID)
		c.pending.reuse(waiting)
	}()
	if err := c.send(ctx, sent); err != nil {
		return nil, unsent(err)
	}
	response, err := c.await(ctx, sent, waiting, ends)
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.MsgID = sent.MsgID
		waiting.explain(failed)
		if waiting.incomplete() {
			failed.Executed = ExecutedNo
		}
		c.callOff(ctx, sent, waiting.owing())
	} else if waiting.departing != nil {
		c.callOff(ctx, sent, waiting.idle())
	}
	return response, err
}

// tooLate says why a request must not leave any more; left is what is left of its time.
func tooLate(ctx context.Context, left time.Duration) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return newError(http.StatusServiceUnavailable, ExecutedNo, errEnded(ctx), "the caller stopped waiting before the call was sent")
	case left <= 0:
		return newError(http.StatusGatewayTimeout, ExecutedNo, errTimeBudget(), "the time budget was spent before the call was sent")
	default:
		return nil
	}
}

// errTimeBudget is the cause of errors that say that the time budget ended.
func errTimeBudget() error { return errors.Join(ErrTimeout, context.DeadlineExceeded) }

// errEnded is the cause of errors that say that a context has ended: what every context says, and the cause that it may have
// of its own.
func errEnded(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return errors.Join(ctx.Err(), cause)
	}
	return ctx.Err()
}

// await returns the response, or why there is none.
func (c *Conn) await(ctx context.Context, sent *outgoing, s *unicastSlot, ends time.Time) (*wire.Response, error) {
	probe := unicastProbe{conn: c, slot: s, local: sent.local}
	var outage <-chan struct{} // nil: no outage ends a call that has stayed in the process
	if !sent.local {
		outage = c.link.outage.tooLong()
	}
	if s.isRemindable(sent.TimeBudget) {
		c.pending.reminder.expect(sent.MsgID)
		if s.isSoon(ctx) {
			if response, err := c.outcome(s); response != nil || err != nil {
				return response, err
			}
		}
		s.waited = remindedAfter
	}
	defer s.timer.Stop()
	s.timer.Reset(min(probe.first(), time.Until(ends)))
	defer func() { probe.end() }() // not without the closure: there is nothing to end yet
	for {
		select {
		case <-s.news:
			if response, err := c.outcome(s); response != nil || err != nil { // else it was a reminder
				return response, err
			}
		case taker := <-s.taker():
			if err := s.follow(ctx, taker, ends); err != nil {
				return nil, err
			}
		case <-s.timer.C:
			if !time.Now().Before(ends) {
				return nil, s.gaveUp(ctx)
			}
			next, err := probe.round()
			if err != nil {
				return nil, err
			}
			s.timer.Reset(min(next, time.Until(ends)))
		case <-probe.badNews():
			next, gone := probe.review()
			if gone != nil {
				return s.lastWord(instanceLost(*gone, sent.MsgID))
			}
			s.timer.Reset(min(next, time.Until(ends)))
		case <-outage:
			return s.lastWord(outlasted(s.host))
		case <-ctx.Done():
			return nil, s.gaveUp(ctx)
		case <-c.base.Done():
			return nil, newError(http.StatusServiceUnavailable, ExecutedUnknown, ErrClosed, "the connection was closed while waiting for %s", s.host)
		}
	}
}

// outcome returns the response, or why there is none.
func (c *Conn) outcome(s *unicastSlot) (*wire.Response, error) {
	response, err := s.outcome()
	if errors.Is(err, errDenied) {
		err = c.forbidden(s.subject)
	}
	return response, err
}

// isSoon waits for the outcome, the reminder or the end of the context, for which it returns false. Whatever else ends a
// call is announced on channels that all calls share, and calls would contend for their locks.
func (s *unicastSlot) isSoon(ctx context.Context) bool {
	ended := endOf(ctx)
	if ended == nil { // no select is needed
		<-s.news
		return true
	}
	select {
	case <-s.news:
		return true
	case <-ended:
		return false
	}
}

// endOf returns the Done of a context; nil for that of a handler who has not asked for it so far: making it for so short a
// time costs more than noticing the end a little later. The time that is left is known without it.
func endOf(ctx context.Context) <-chan struct{} {
	if handler, ok := ctx.(*serving); ok {
		return handler.doneIfMade()
	}
	return ctx.Done()
}
