package bus

import (
	"context"
	"slices"
	"time"
)

// How long a caller waits before it tries again when nobody is there.
const (
	firstPause    = 5 * time.Millisecond   // before the second attempt at a subject that nobody subscribes to
	longestPause  = 50 * time.Millisecond  // between later attempts
	replaceWindow = 500 * time.Millisecond // how long a host that was there before may be away
)

// patience says how often to try a host that nobody answers for: once more if it is unknown, for a while if it has answered
// before, as it is likely being replaced.
type patience struct {
	next  time.Duration
	until time.Time // when the last attempt is made
	tried time.Time // when the latest attempt began; zero: there was none
	left  []peer    // who has taken the first part of a request, and was not there for the others
}

func newPatience() *patience {
	return &patience{next: firstPause, until: time.Now().Add(replaceWindow)}
}

// renew gives the host all the time again, as an instance was there until now. The pauses stay as long as they have become. An
// instance that takes a first part once more has not left: it will not be there for the others the next time, either.
func (p *patience) renew(left peer) {
	if !slices.Contains(p.left, left) {
		p.left, p.until = append(p.left, left), time.Now().Add(replaceWindow)
	}
}

// pause waits before the next attempt; false when there is none. Known says whether the host has been heard of by now.
func (p *patience) pause(ctx context.Context, known bool, ends time.Time) bool {
	pause := min(p.next, time.Until(p.until))
	if !p.tried.IsZero() && !known || pause <= 0 || time.Until(ends) < pause {
		return false
	}
	p.next = min(2*p.next, longestPause)
	if !sleep(ctx, pause) {
		return false
	}
	p.tried = time.Now()
	return true
}

// sleep is false if ctx ends before the time is up.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
