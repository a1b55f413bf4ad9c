// Package callctx is the context of a handler, and what the calls made with it inherit: the depth, some header fields,
// the actor and the time that is left.
package callctx

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// Handler is the context of one handler. Most handlers never ask for Done: the context behind it is made for those that
// do. The exported fields are set before the handler runs, and do not change afterwards.
type Handler struct {
	Owner   any             // the connection that serves the request
	Base    context.Context //nolint:containedctx // ends when the owner gives up on its handlers
	Request *wire.Request
	Called  string        // the host that is called, without an instance
	Port    int           // that is called
	Claims  claims.Claims // of the request's token, nil for none
	Event   *Event        // nil unless the request is an event
	TraceID string        // that an interceptor has set
	Proven  atomic.Bool   // the proof of the caller was verified; may be set later

	Recorded bool // the call is remembered, with the last lines that the handler logs

	mu    sync.Mutex              // protects all below
	ends  time.Time               // of the time budget; zero for none
	timer *time.Timer             // at ends, if that moves and there is an inner; else nil
	inner context.Context         // nil until Done is asked for
	stop  context.CancelCauseFunc // of inner
	cause error                   // why the context has ended, if that was before there was an inner
	over  bool                    // the handler has returned
	moves bool                    // ends may move, as the handler may answer with a stream, or reads one

	header wire.Header // of the response, as far as the method sets it
	lines  *lines      // that it has logged; nil for none
}

// Event is one delivery of an event. Package bus/events exports it as Delivery, with the same fields.
type Event struct {
	Publisher, ID string
	Attempt       int
	Stored        time.Time
}

// Of returns the handler that ctx belongs to, nil for none.
func Of(ctx context.Context) *Handler {
	h, _ := ctx.Value(handlerKey{}).(*Handler)
	return h
}

type handlerKey struct{}

// SetEnd sets the end of the time budget before the handler runs. moves says that MoveEnd may follow.
func (h *Handler) SetEnd(at time.Time, moves bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends, h.moves = at, moves
}

// MoveEnd moves the end of the time budget, the zero value for none.
func (h *Handler) MoveEnd(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends = at
	if h.timer != nil && !at.IsZero() { // else it stops by itself
		h.timer.Reset(time.Until(at))
	}
}

// Deadline returns the end of the time budget.
func (h *Handler) Deadline() (time.Time, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ends, !h.ends.IsZero()
}

// Done is closed when the time budget ends, when the caller leaves, or when Close gives up on the handler.
func (h *Handler) Done() <-chan struct{} { return h.context().Done() }

// Err returns why Done is closed.
func (h *Handler) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.inner != nil && h.moves && errors.Is(context.Cause(h.inner), context.DeadlineExceeded):
		return context.DeadlineExceeded
	case h.inner != nil:
		return h.inner.Err()
	case h.cause != nil:
		return context.Canceled
	case h.Base.Err() != nil:
		return h.Base.Err()
	case !h.ends.IsZero() && !time.Now().Before(h.ends):
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Value returns the handler itself for its own key. Any other key may be one that package context uses to look for its
// own contexts.
func (h *Handler) Value(key any) any {
	switch key.(type) {
	case handlerKey:
		return h
	case actorKey, fieldsKey, budgetKey: // these are of calls, and do not go from one to the next
		return nil
	default:
		return h.context().Value(key)
	}
}

// context returns the inner context, and makes it if there is none.
func (h *Handler) context() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inner == nil {
		ctx, cancel := context.WithCancelCause(h.Base)
		if h.moves {
			h.inner, h.stop = ctx, cancel
			h.timer = time.AfterFunc(time.Until(h.ends), h.expire)
		} else {
			ctx, stop := context.WithDeadline(ctx, h.ends)
			h.inner, h.stop = ctx, func(cause error) {
				cancel(cause)
				stop()
			}
		}
		if h.cause != nil {
			h.stop(h.cause)
		}
	}
	return h.inner
}

// expire ends the context at the end of the time budget, unless that has moved.
func (h *Handler) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch left := time.Until(h.ends); {
	case h.ends.IsZero():
	case left > 0:
		h.timer.Reset(left)
	default:
		h.stop(context.DeadlineExceeded)
	}
}

// DoneIfMade returns the Done of a context; nil for that of a handler that has not asked for it so far. To make it for
// the short time of most calls costs more than to notice the end a little later; the time that is left is known without
// it.
func DoneIfMade(ctx context.Context) <-chan struct{} {
	h, ok := ctx.(*Handler)
	if !ok {
		return ctx.Done()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inner == nil {
		return nil
	}
	return h.inner.Done()
}

// End ends the context, and frees its resources. over says that the handler has returned.
func (h *Handler) End(cause error, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = h.over || over
	if h.timer != nil {
		h.timer.Stop()
	}
	if h.inner != nil {
		h.stop(cause)
	} else if h.cause == nil {
		h.cause = cause
	}
}

// AcquireNested admits a call that the handler makes, even after Close. It reports false if the handler has returned,
// as one may that has passed on its context without the cancellation.
func (h *Handler) AcquireNested(calls *worker.Limiter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	calls.AcquireNested()
	return true
}

// CallerLeft reports whether the context has ended because the caller has stopped waiting.
func (h *Handler) CallerLeft() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inner != nil {
		return errors.Is(context.Cause(h.inner), status.ErrCallerLeft)
	}
	return errors.Is(h.cause, status.ErrCallerLeft)
}

// SetResponseHeader adds fields to the header of the response, in place of those of a name.
func (h *Handler) SetResponseHeader(name string, fields wire.Header) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.header = append(h.header.Without(name), fields...)
}

// ResponseHeader returns a header with the fields that the method has set.
func (h *Handler) ResponseHeader(header wire.Header) wire.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.header) == 0 {
		return header
	}
	return append(slices.Clip(header), h.header...)
}

// Budget returns how long a call may take: until ctx or the chain of calls ends, by default 20 s, at most 600 s.
func Budget(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if h := Of(ctx); h != nil {
		if ends, limited := h.Deadline(); limited && (!ok || ends.Before(deadline)) {
			deadline, ok = ends, true
		}
	}
	budget := wire.DefaultTimeBudget
	if longest, limited := ctx.Value(budgetKey{}).(time.Duration); limited {
		budget = longest
	} else if ok {
		budget = wire.MaxTimeBudget
	}
	if ok {
		budget = min(budget, time.Until(deadline))
	}
	return min(budget, wire.MaxTimeBudget)
}

type budgetKey struct{}

// WithBudget returns a context whose calls have a time budget of at most longest.
func WithBudget(ctx context.Context, longest time.Duration) context.Context {
	return context.WithValue(ctx, budgetKey{}, longest)
}
