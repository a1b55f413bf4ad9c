package bus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/wire"
)

// serving is the context of a handler. It knows the request: a call made with it continues the chain, one level deeper,
// with what is left of the time. Most handlers never ask for Done; the context behind it is made for those that do.
type serving struct {
	conn     *Conn
	request  *wire.Request
	deadline time.Time
	claims   claims.Claims // of the request's token, nil for none; set before the handler runs
	place    int           // among those that run: see running

	mu    sync.Mutex              // protects all below
	inner context.Context         // nil until Done is asked for
	stop  context.CancelCauseFunc // of inner
	cause error                   // why it has ended, if that was before there was an inner
	over  bool                    // the handler has returned

	header wire.Header // of the response, as far as the method sets it
}

// Deadline returns the end of the time budget.
func (s *serving) Deadline() (time.Time, bool) { return s.deadline, true }

// Done is closed when the time budget ends, when the caller leaves, or when Close gives up on the handler.
func (s *serving) Done() <-chan struct{} { return s.context().Done() }

// Err returns why Done is closed.
func (s *serving) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.inner != nil:
		return s.inner.Err()
	case s.cause != nil:
		return context.Canceled
	case s.conn.base.Err() != nil:
		return s.conn.base.Err()
	case !time.Now().Before(s.deadline):
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Value returns the serving itself for its own key. Any other key may be one by which package context looks for its own
// contexts.
func (s *serving) Value(key any) any {
	switch key.(type) {
	case servingKey:
		return s
	case actorKey, sentFieldsKey: // these are of calls, and do not go from one to the next
		return nil
	default:
		return s.context().Value(key)
	}
}

type servingKey struct{}

func servingOf(ctx context.Context) *serving {
	s, _ := ctx.Value(servingKey{}).(*serving)
	return s
}

// context returns the inner context, which is made now if there is none.
func (s *serving) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner == nil {
		ctx, cancel := context.WithCancelCause(s.conn.base)
		ctx, stop := context.WithDeadline(ctx, s.deadline)
		s.inner, s.stop = ctx, func(cause error) {
			cancel(cause)
			stop()
		}
		if s.cause != nil {
			s.stop(s.cause)
		}
	}
	return s.inner
}

// doneIfMade returns nil if nobody has asked for Done so far.
func (s *serving) doneIfMade() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner == nil {
		return nil
	}
	return s.inner.Done()
}

// end ends the context, and frees its resources; over says that the handler has returned.
func (s *serving) end(cause error, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = s.over || over
	if s.inner != nil {
		s.stop(cause)
	} else if s.cause == nil {
		s.cause = cause
	}
}

// accompany lets a call that the handler makes into a gate, even if that is shut; false if the handler has returned, as one may
// that has passed on its context without the cancellation.
func (s *serving) accompany(calls *gate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	calls.accompany()
	return true
}

// left says whether the context has ended because the caller has stopped waiting.
func (s *serving) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner != nil {
		return errors.Is(context.Cause(s.inner), ErrCallerLeft)
	}
	return errors.Is(s.cause, ErrCallerLeft)
}
