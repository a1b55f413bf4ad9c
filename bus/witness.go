package bus

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
)

// witness hears which subscriptions the broker refuses while some are being made. The broker client keeps only its last
// report, and that may be about what another connection of the process does at the same time.
type witness struct {
	link   *link
	before error         // the last report when it began
	last   error         // the last report when it was asked
	news   chan struct{} // room for one: it has heard something

	mu    sync.Mutex // protects heard
	heard []error    // in their order
}

// newWitness begins before anything is subscribed to. It hears until it is dismissed.
func (l *link) newWitness() *witness {
	w := &witness{link: l, before: l.conn().LastError(), news: make(chan struct{}, 1)}
	l.hearing.Lock()
	defer l.hearing.Unlock()
	l.witnesses = append(l.witnesses, w)
	return w
}

func (w *witness) dismiss() {
	w.link.hearing.Lock()
	defer w.link.hearing.Unlock()
	w.link.witnesses = slices.DeleteFunc(w.link.witnesses, func(other *witness) bool { return other == w })
}

// testify tells all witnesses what the broker client reports of a connection of ours.
func (l *link) testify(report error) {
	l.hearing.Lock()
	defer l.hearing.Unlock()
	for _, w := range l.witnesses {
		w.hear(report)
	}
}

func (w *witness) hear(report error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, report)
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// reports returns what was refused since it began. Call it after a flush: the broker client has then received all reports. It
// passes them on later, in their order, so that the last one, which it names at once, ends the wait. Of a connection that was
// given nothing else is known.
func (w *witness) reports(ctx context.Context) ([]error, error) {
	w.last = w.link.conn().LastError()
	old := w.last == w.before //nolint:errorlint // the very same report
	switch {
	case errors.Is(w.last, nats.ErrMaxSubscriptionsExceeded): // the same error each time
		return []error{w.last}, nil
	case old, !isRefusal(w.last):
		return w.soFar(), nil
	case !w.link.owned:
		return []error{w.last}, nil
	}
	for examined := 0; ; {
		heard := w.soFar()
		if slices.Contains(heard[examined:], w.last) {
			return heard, nil
		}
		examined = len(heard)
		select {
		case <-w.news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *witness) soFar() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard // to which more is only appended
}

// isRefusal says whether a report is about a message that the broker does not take, rather than the connection.
func isRefusal(report error) bool {
	return errors.Is(report, nats.ErrPermissionViolation) || errors.Is(report, nats.ErrMaxSubscriptionsExceeded)
}

// checking keeps denials that are expected apart from others; call done when nothing is subscribed to any more. Of a connection
// that was given only the last report is known, so that on it one subscribes after the other.
func (l *link) checking() (done func()) {
	if l.owned {
		l.denying.RLock()
		return l.denying.RUnlock
	}
	l.denying.Lock()
	return l.denying.Unlock
}
