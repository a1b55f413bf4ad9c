package plane

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// Shared looks something up for all readers that ask at about the same time: one lookup at a time, and none while the
// last result is recent. Nothing runs without a reader.
type Shared[T any] struct {
	Age     func(T) time.Duration // how long a result is recent
	Changed func() bool           // whether a result is no longer recent for another reason; nil: there is none
	Timeout time.Duration         // of a lookup
	Soon    time.Duration         // how long a lookup keeps a reader of ReadSoon waiting
	Now     func() time.Time
	Look    func(ctx context.Context, began time.Time) (T, error)

	mu      sync.Mutex // protects all fields below
	latest  *sharedLook[T]
	running *sharedLook[T]
}

// sharedLook is a lookup that has begun.
type sharedLook[T any] struct {
	began time.Time
	done  chan struct{}
	seen  T // seen and err are set before done is closed
	err   error
}

// Read returns a recent result. The first reader that finds none starts a lookup; readers that come meanwhile wait for
// it. An error is returned to those who waited for it, and the next reader tries again.
func (s *Shared[T]) Read(ctx context.Context) (T, error) {
	look, _ := s.join()
	return look.wait(ctx)
}

// staleAge is how old a result of ReadSoon may be.
const staleAge = 10 * time.Second

// ReadSoon is Read, but returns the last result when a lookup takes longer than soon, as it may while others flood the
// plane.
func (s *Shared[T]) ReadSoon(ctx context.Context) (T, error) {
	look, last := s.join()
	if look == last || last == nil || s.Now().Sub(last.began) >= staleAge {
		return look.wait(ctx)
	}
	timer := time.NewTimer(s.Soon - s.Now().Sub(look.began))
	defer timer.Stop()
	select {
	case <-look.done:
		return look.seen, look.err
	case <-timer.C:
		return last.seen, nil
	}
}

// join returns the lookup whose result is recent, or will be, and the last one that has succeeded, nil if none has.
func (s *Shared[T]) join() (look, last *sharedLook[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isRecentLocked():
		return s.latest, s.latest
	case s.running == nil:
		s.running = &sharedLook[T]{began: s.Now(), done: make(chan struct{})}
		go s.run(s.running)
	}
	return s.running, s.latest
}

// isRecentLocked reports whether the last result may be returned.
func (s *Shared[T]) isRecentLocked() bool {
	return s.latest != nil && s.Now().Sub(s.latest.began) < s.Age(s.latest.seen) && (s.Changed == nil || !s.Changed())
}

// Always returns an age that is the same for all results.
func Always[T any](age time.Duration) func(T) time.Duration {
	return func(T) time.Duration { return age }
}

func (l *sharedLook[T]) wait(ctx context.Context) (seen T, err error) {
	select {
	case <-l.done:
		return l.seen, l.err
	case <-ctx.Done():
		return seen, bus.Errorf(bus.StatusOf(ctx.Err()), "asking what is on the bus: %w", ctx.Err())
	}
}

// run does the lookup for all readers that wait, hence not in the context of any one of them.
func (s *Shared[T]) run(running *sharedLook[T]) {
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeout)
	defer cancel()
	defer func() {
		if reason := recover(); reason != nil {
			running.err = fmt.Errorf("asking what is on the bus panicked: %v\n%s", reason, debug.Stack())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if running.err == nil {
			s.latest = running
		}
		s.running = nil
		close(running.done)
	}()
	running.err = errors.New("asking what is on the bus never ended") // kept only if the lookup exits
	running.seen, running.err = s.Look(ctx, running.began)
}
