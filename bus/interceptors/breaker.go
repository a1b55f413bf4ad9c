package interceptors

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/busline/busline/bus"
)

// BreakerOption is an option of [CircuitBreaker].
type BreakerOption func(*breakers)

// WithFailures sets after how many failures in a row a circuit opens. 0 stands for the default. Default: 5.
func WithFailures(count uint32) BreakerOption {
	return func(b *breakers) {
		if count > 0 {
			b.failures = count
		}
	}
}

// WithOpenTime sets how long a circuit stays open. What is not above zero stands for the default. Default: 5 s.
func WithOpenTime(open time.Duration) BreakerOption {
	return func(b *breakers) {
		if open > 0 {
			b.open = open
		}
	}
}

// CircuitBreaker returns an interceptor with a circuit for each host that the connection calls. When calls of a host
// fail in a row, it opens: calls fail at once with 503, not executed, and with the time that is left as RetryAfter.
// After that time one call is let through; if it succeeds the circuit closes, else it opens again.
//
// Failures are responses of 502, 503 and 504, and calls without a response. What says nothing of the host counts
// neither as failure nor as success: a host without an instance, which costs nothing and is found again as soon as one
// comes; a broker out of reach; a caller that gave up; multicasts. It leaves alone what the connection serves.
func CircuitBreaker(options ...BreakerOption) bus.Interceptor {
	b := &breakers{failures: 5, open: 5 * time.Second, failing: make(map[string]*breaker)}
	for _, option := range options {
		option(b)
	}
	return b.intercept
}

// maxBreakers limits how many hosts have a circuit at a time. A host that does not fail needs none.
const maxBreakers = 1024

// breakers are the circuits of one connection.
type breakers struct {
	failures uint32
	open     time.Duration

	mu      sync.RWMutex // protects failing
	failing map[string]*breaker
}

// breaker is the circuit of one host.
type breaker struct {
	*gobreaker.TwoStepCircuitBreaker[struct{}]
	until atomic.Pointer[time.Time] // it lets a call through; nil until it opens
}

// The outcomes of a call.
var (
	errFailed  = errors.New("failed")
	errUnknown = errors.New("says nothing of the host")
)

func (b *breakers) intercept(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, call *bus.Exchange) error {
		if call.Side == bus.ServerSide || call.Multicast {
			return next(ctx, call)
		}
		host := call.Host // an interceptor further in may change it
		b.mu.RLock()
		known := b.failing[host]
		b.mu.RUnlock()
		if known == nil {
			err := next(ctx, call)
			if outcome := outcomeOf(ctx, call.Failure(err)); errors.Is(outcome, errFailed) {
				b.record(b.of(host), outcome)
			}
			return err
		}
		done, err := known.Allow()
		if err != nil {
			return known.refuse(host)
		}
		outcome := errFailed // of a call that panics
		defer func() {
			done(outcome)
			b.forget(host, known)
		}()
		err = next(ctx, call)
		outcome = outcomeOf(ctx, call.Failure(err))
		return err
	}
}

// outcomeOf returns what a call says of its host.
func outcomeOf(ctx context.Context, failed *bus.Error) error {
	switch {
	case failed == nil:
		return nil
	case errors.Is(failed, bus.ErrNoResponder), errors.Is(failed, bus.ErrDisconnected), errors.Is(failed, bus.ErrClosed),
		errors.Is(ctx.Err(), context.Canceled):
		return errUnknown
	case failed.Status == http.StatusBadGateway, failed.Status == http.StatusServiceUnavailable,
		failed.Status == http.StatusGatewayTimeout:
		return errFailed
	default:
		return nil
	}
}

// of returns the circuit of a host.
func (b *breakers) of(host string) *breaker {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.failing[host]; known != nil {
		return known
	}
	for other := range b.failing {
		if len(b.failing) < maxBreakers {
			break
		}
		delete(b.failing, other)
	}
	added := new(breaker)
	added.TwoStepCircuitBreaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     b.open,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= b.failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errUnknown) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				until := time.Now().Add(b.open)
				added.until.Store(&until)
			}
		},
	})
	b.failing[host] = added
	return added
}

// record records the outcome of a call that was made without a circuit.
func (*breakers) record(of *breaker, outcome error) {
	if done, err := of.Allow(); err == nil {
		done(outcome)
	}
}

// forget frees the circuit of a host that does not fail any more.
func (b *breakers) forget(host string, known *breaker) {
	if known.State() != gobreaker.StateClosed || known.Counts().ConsecutiveFailures > 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failing[host] == known {
		delete(b.failing, host)
	}
}

// refuse returns the error for a call that is not let through.
func (b *breaker) refuse(host string) error {
	refused := &bus.Error{Status: http.StatusServiceUnavailable,
		Detail: "calls of " + host + " have failed in a row, so none is made for a while"}
	if until := b.until.Load(); until != nil {
		refused.RetryAfter = max(time.Until(*until), 0)
	}
	return refused
}
