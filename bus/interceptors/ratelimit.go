package interceptors

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/busline/busline/bus"
)

// Key returns whose limit a request counts against. It has to be safe for concurrent use.
type Key func(ctx context.Context, call *bus.Exchange) string

// ByCaller limits each calling service, by its host: all requests from outside are those of the ingress.
func ByCaller(_ context.Context, call *bus.Exchange) string { return call.Request.FromHost }

// ByClaim limits each value of a claim, such as "sub" for users. Callers without the claim share one limit.
func ByClaim(name string) Key {
	return func(ctx context.Context, _ *bus.Exchange) string {
		claims, _ := bus.ClaimsOf(ctx)
		if value, has := claims[name]; has {
			return fmt.Sprint("=", value)
		}
		return ""
	}
}

// RateLimit returns an interceptor that rejects requests beyond a rate: each key may make perSecond requests on
// average, and up to burst at once. Further ones are answered 429, not executed, with the time until the next may come
// as RetryAfter. Each instance counts for itself. It leaves alone the calls that the connection makes.
//
// Use it with [bus.Intercept], so that documents are not limited. It returns an error if a parameter is zero or below,
// or by is nil.
//
//	limit, err := interceptors.RateLimit(10, 20, interceptors.ByClaim("sub"))
//	…
//	err = bus.Serve(conn, service, bus.Intercept(limit))
//
// It keeps the limits of at most 4096 keys that were active a moment ago; further keys share one limit.
func RateLimit(perSecond float64, burst int, by Key) (bus.Interceptor, error) {
	switch {
	case !(perSecond > 0): // not a number is not, either
		return nil, fmt.Errorf("interceptors.RateLimit: %v requests a second let none through: set a rate above zero",
			perSecond)
	case burst < 1:
		return nil, fmt.Errorf("interceptors.RateLimit: a burst of %d lets no request through: set at least 1", burst)
	case by == nil:
		return nil, errors.New("interceptors.RateLimit: by is nil: use interceptors.ByCaller, interceptors.ByClaim or a " +
			"function of your own")
	}
	l := &limiters{limit: rate.Limit(perSecond), burst: burst, by: by, active: make(map[string]*rate.Limiter)}
	l.others = l.limiter()
	return l.intercept, nil
}

const (
	maxLimiters = 4096
	sweepPause  = time.Second
)

// limiters are the limits of all keys. A limiter that is full is as good as a new one, and is dropped when there are
// too many.
type limiters struct {
	limit rate.Limit
	burst int
	by    Key

	mu     sync.Mutex // protects all below
	active map[string]*rate.Limiter
	swept  time.Time
	others *rate.Limiter // of keys that find no room
}

func (l *limiters) limiter() *rate.Limiter { return rate.NewLimiter(l.limit, l.burst) }

func (l *limiters) intercept(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, call *bus.Exchange) error {
		if call.Side == bus.ClientSide {
			return next(ctx, call)
		}
		if wait := l.admit(l.by(ctx, call), time.Now()); wait > 0 {
			return &bus.Error{
				Status: http.StatusTooManyRequests, RetryAfter: wait,
				Detail: fmt.Sprintf("more than %v requests a second, and %d at once", float64(l.limit), l.burst),
			}
		}
		return next(ctx, call)
	}
}

// admit takes a request of a key, or returns after what time it may come again.
func (l *limiters) admit(key string, now time.Time) (wait time.Duration) {
	limiter := l.of(key, now)
	reservation := limiter.ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// of returns the limiter of a key.
func (l *limiters) of(key string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.active[key]; known != nil {
		return known
	}
	if len(l.active) >= maxLimiters {
		l.sweep(now)
	}
	if len(l.active) >= maxLimiters {
		return l.others
	}
	limiter := l.limiter()
	l.active[key] = limiter
	return limiter
}

// sweep drops the limiters that are full, once a second.
func (l *limiters) sweep(now time.Time) {
	if now.Sub(l.swept) < sweepPause {
		return
	}
	l.swept = now
	for key, each := range l.active {
		if each.TokensAt(now) >= float64(l.burst) {
			delete(l.active, key)
		}
	}
}
