package bus

import (
	"context"
	"net/http"

	"github.com/busline/busline/bus/wire"
)

// stopWaiting yields what is missing to the caller, and tells the handlers that still run that nobody waits for them. It
// returns why the call has failed, nil if only instances have.
func (c *Conn) stopWaiting(ctx context.Context, waiting *multicastSlot, why ending, yield func(*wire.Response, error) bool) error {
	outcomes, silent := waiting.remainder()
	if why != brokerGone {
		c.callOff(ctx, &waiting.call, silent)
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
func (s *multicastSlot) gaveUp(ctx context.Context) error {
	why := ErrClosed
	if ctx.Err() != nil {
		why = errEnded(ctx)
	}
	failed := newError(http.StatusServiceUnavailable, ExecutedUnknown, why, "the caller stopped waiting for %s", s.call.address.Host)
	failed.MsgID = s.call.MsgID
	return failed
}

// timeOut yields what has come in the last moment, and one error for each instance that acked and did not answer.
func (s *multicastSlot) timeOut(outcomes []outcome, silent []peer, yield func(*wire.Response, error) bool) {
	for _, came := range outcomes {
		if !came.yield(yield) {
			return
		}
	}
	for _, ack := range silent {
		failed := newError(http.StatusGatewayTimeout, ExecutedUnknown, errTimeBudget(), "the instance took the call, and did not answer within the time budget")
		failed.Host, failed.ID, failed.MsgID = ack.host, ack.id, s.call.MsgID
		if !yield(nil, failed) {
			return
		}
	}
}

// cutOff yields what has come before the broker went away, and returns that it has.
func (s *multicastSlot) cutOff(outcomes []outcome, yield func(*wire.Response, error) bool) error {
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
func (s *multicastSlot) remainder() (outcomes []outcome, silent []peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	return s.inbox[s.taken:], s.owed()
}

// seal ends the call; ended is false if somebody has turned up in the meantime. names are those who have acked, nil if they
// are the ones that were known. hasty says that the call has ended before it had been quiet for long.
func (s *multicastSlot) seal() (names map[string]int, hasty, ended bool) {
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
