package bus

import (
	"context"
	"errors"
	"time"
)

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
func (s *multicastSlot) next(ctx context.Context) (outcome, ending) {
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
func (s *multicastSlot) sleep(ctx context.Context, wake time.Time) ending {
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
	isOwed              // somebody has acked and not answered: only news, a lost instance or the end matters
	isOpen              // all that have acked have answered; there may be others
	isQuiet             // there seem to be no others
	isKnown             // all that answered the last time have done so again
	isComplete
)

// look takes the next outcome out of the inbox, or returns the state of the call.
func (s *multicastSlot) look() (came outcome, now progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.taken < len(s.inbox):
		came, s.inbox[s.taken] = s.inbox[s.taken], outcome{}
		s.taken++
		return came, hasOutcome
	case s.nobody && s.acked == 0:
		return came, isComplete
	case s.answered < s.acked:
		return came, isOwed
	case s.direct:
		return came, isComplete
	case s.relies():
		return came, isKnown
	case time.Now().Before(s.lastAck.Add(s.silence())):
		return came, isOpen
	default:
		return came, isQuiet
	}
}

// relies says whether the call ends because those who were known have answered. The lock is held.
func (s *multicastSlot) relies() bool {
	return len(s.known) > 0 && s.missing == 0 && !s.direct && !s.doubts
}

// doubt makes the call wait for others than the known responders, as somebody has come or gone; false if it does so anyway.
func (s *multicastSlot) doubt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.doubts
	s.doubts = before || s.relies()
	return s.doubts != before
}

// mayBeGreeted says whether a request of the framework is being handled, which may be a greeting.
func (s *multicastSlot) mayBeGreeted() bool {
	_, working := s.conn.controls.count()
	return working > 0
}
