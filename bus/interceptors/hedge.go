package interceptors

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/feature"
)

// HedgeOption is an option of [Hedge].
type HedgeOption func(*hedger)

// WithHedgeDelay sets the delay before a second request. What is not above zero stands for the default. Default: the
// 95th percentile of the last 100 calls of the address, at least 1 ms.
func WithHedgeDelay(delay time.Duration) HedgeOption {
	return func(h *hedger) { h.fixed = max(delay, 0) }
}

// WithHedgeShare sets the share of calls that may be hedged. It is at most 1; what is not above zero stands for the
// default. Default: 0.05.
func WithHedgeShare(share float64) HedgeOption {
	return func(h *hedger) {
		if share > 0 {
			h.share = min(share, 1)
		}
	}
}

// Hedge returns an interceptor that sends a unicast call a second time, to another instance, when the answer takes
// longer than usual. The first answer counts, and the other attempt is cancelled: its context ends, and so does that of
// its handler. Both share the time budget of the call.
//
// It hedges calls that may run twice: those of GET, HEAD, PUT, DELETE and OPTIONS, and with [WithIdempotent] all
// others. It hedges no request whose body is a stream, no call of one instance and none that all instances get, as
// without a queue. Hedges are a share of the calls of each address, see [WithHedgeShare], so a slow service gets no
// double load.
//
// The second request is addressed to an instance that has answered lately and has not acked the first one, if possible
// to one that was faster than the delay. So an address is hedged once two instances have answered, and a learned delay
// takes 20 answers. An instance of few that is always slow has more of the calls than the default share: set delay and
// share then.
//
// A success counts, and so does an error of a service that blames the caller (4xx). After any other error the call
// waits for the attempt that is left; if both fail, the error is that of the first one.
//
// Place it after [Retry] and [CircuitBreaker], which then see one call with both attempts.
//
// A call that is not hedged is passed on as it is. One that may be hedged, and is answered before, costs a context and
// a timer.
func Hedge(options ...HedgeOption) bus.Interceptor {
	h := &hedger{share: 0.05, known: make(map[hedgeKey]*hedgeStats)}
	for _, option := range options {
		option(h)
	}
	return h.intercept
}

// hedger is the state of one Hedge.
type hedger struct {
	fixed  time.Duration // 0 for a learned delay
	share  float64
	unused sync.Pool // of *race

	mu    sync.RWMutex // protects known
	known map[hedgeKey]*hedgeStats
}

// hedgeKey is an address.
type hedgeKey struct {
	port               int
	host, method, path string
}

// maxHedgeStats limits of how many addresses there are figures at a time.
const maxHedgeStats = 1024

func (h *hedger) intercept(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, call *bus.Exchange) error {
		if call.Side == bus.ServerSide || call.Multicast || call.Request.Stream != nil || !mayRunTwice(ctx, call) {
			return next(ctx, call)
		}
		stats := h.statsOf(call)
		if delay, isArmed := stats.begin(h); isArmed {
			return h.race(ctx, call, next, stats, delay)
		}
		began, host := time.Now(), call.Host
		err := next(ctx, call)
		if err == nil {
			stats.record(host, call, time.Since(began))
		}
		return err
	}
}

// mayRunTwice reports whether two handlers may run a call at the same time.
func mayRunTwice(ctx context.Context, call *bus.Exchange) bool {
	switch call.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return true
	default:
		return isIdempotent(ctx, call)
	}
}

// statsOf returns the figures of the address of a call.
func (h *hedger) statsOf(call *bus.Exchange) *hedgeStats {
	key := hedgeKey{call.Port, call.Host, call.Method, call.Route}
	if key.path == "" {
		key.path = call.Path
	}
	h.mu.RLock()
	stats := h.known[key]
	h.mu.RUnlock()
	if stats != nil {
		return stats
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if stats := h.known[key]; stats != nil {
		return stats
	}
	for other := range h.known {
		if len(h.known) < maxHedgeStats {
			break
		}
		delete(h.known, other)
	}
	stats = new(hedgeStats)
	h.known[key] = stats
	return stats
}

// race makes a call that is hedged if it is not answered within the delay. The first attempt runs on the caller's
// goroutine, the second one on that of the timer.
func (h *hedger) race(ctx context.Context, call *bus.Exchange, next bus.CallFunc, stats *hedgeStats,
	delay time.Duration) error {
	r, isUsed := h.unused.Get().(*race)
	if !isUsed {
		r = &race{ended: make(chan struct{}, 1)}
	}
	limited, cancel := context.WithCancel(ctx)
	r.ctx, r.cancelFirst, r.next, r.stats, r.delay, r.host = ctx, cancel, next, stats, delay, call.Host
	r.twin = feature.Bus.Twin(ctx, call)
	r.began = time.Now()
	if r.timer == nil {
		r.timer = time.AfterFunc(delay, r.hedge)
	} else {
		r.timer.Reset(delay)
	}
	hasReturned := false
	defer func() {
		if !hasReturned { // it panics
			r.endFirst(true)
		}
	}()
	err := next(limited, call)
	hasReturned = true
	if isHedged := r.endFirst(isFinal(call.Failure(err))); isHedged {
		return r.settle(call, err)
	}
	if err == nil {
		stats.record(r.host, call, time.Since(r.began))
	}
	if r.isUnused {
		r.twin.Release()
		*r = race{timer: r.timer, ended: r.ended}
		h.unused.Put(r)
	}
	return err
}

// isFinal reports whether a call need not wait for another attempt: it has succeeded, or the caller is to blame.
func isFinal(failed *bus.Error) bool {
	return failed == nil || failed.Status >= http.StatusBadRequest && failed.Status < http.StatusInternalServerError
}

// race is one call that may be hedged.
type race struct {
	ctx         context.Context //nolint:containedctx // of one call
	cancelFirst context.CancelFunc
	next        bus.CallFunc
	stats       *hedgeStats
	delay       time.Duration
	host        string
	twin        feature.Twin
	began       time.Time
	timer       *time.Timer
	ended       chan struct{} // gets a value when the second attempt has ended, or was left out
	isUnused    bool          // the timer was stopped in time

	// of the second attempt, until ended
	err    error
	reason any // of its panic

	mu           sync.Mutex         // protects all below
	cancelSecond context.CancelFunc // nil unless it was sent
	isDecided    bool               // one attempt counts
	isSecond     bool               // it is the second one
	firstEnded   bool
}

// endFirst ends the first attempt, and waits for the second one. It reports whether there is one.
func (r *race) endFirst(isFinal bool) (isHedged bool) {
	defer r.cancelFirst()
	if r.timer.Stop() {
		r.isUnused = true
		return false
	}
	r.mu.Lock()
	r.firstEnded = true
	if isFinal && !r.isDecided {
		r.isDecided = true
		if r.cancelSecond != nil {
			r.cancelSecond()
		}
	}
	r.mu.Unlock()
	<-r.ended
	return r.cancelSecond != nil
}

var errNotReturned = errors.New("an interceptor has not returned from the second attempt at a call")

// hedge makes the second attempt, if there is an instance for it.
func (r *race) hedge() {
	defer func() {
		r.reason = recover()
		r.ended <- struct{}{}
	}()
	takers := r.twin.Takers()
	ctx, cancel := context.WithDeadline(r.ctx, r.twin.Deadline())
	defer cancel()
	id := r.send(takers, cancel)
	if id == "" {
		return
	}
	r.err = errNotReturned
	if err := r.twin.Address(id); err != nil {
		r.err = err
		return
	}
	call, _ := r.twin.Exchange().(*bus.Exchange)
	began := time.Now()
	err := r.next(ctx, call)
	r.err = err
	failed := call.Failure(err)
	_, isServed := call.Callee(err)
	if failed != nil && !isServed && ctx.Err() == nil {
		r.stats.forget(id) // it is gone, or may not be called
	}
	if !isFinal(failed) || failed != nil && !isServed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isDecided {
		return
	}
	r.isDecided, r.isSecond = true, true
	r.cancelFirst()
	now := time.Now()
	r.stats.answered(id, now.Sub(began))
	for _, slow := range takers {
		r.stats.answered(slow, now.Sub(r.began))
	}
}

// send decides whether the second attempt is made, and returns the instance that it is for; "" for none.
func (r *race) send(takers []string, cancel context.CancelFunc) (id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.firstEnded {
		return ""
	}
	if id = r.stats.spend(takers, r.delay); id != "" {
		r.cancelSecond = cancel
	}
	return id
}

// settle gives the call the outcome of the attempt that counts. err is that of the first one.
func (r *race) settle(call *bus.Exchange, err error) error {
	if r.reason != nil {
		panic(r.reason)
	}
	err = r.twin.Settle(err, r.err, r.isSecond)
	if err == nil {
		r.stats.record("", call, time.Since(r.began)) // of two instances
	}
	return err
}
