package portal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// shared is what is looked up for all who ask at about the same time: one look at a time, and none while what was seen
// last is recent. Nothing runs while nobody asks.
type shared[T any] struct {
	age     time.Duration // for how long it is recent
	timeout time.Duration // of a look
	now     func() time.Time
	look    func(ctx context.Context, began time.Time) (T, error)

	mu      sync.Mutex // protects all below
	latest  *sharedLook[T]
	running *sharedLook[T]
}

// sharedLook is a look that has begun.
type sharedLook[T any] struct {
	began time.Time
	done  chan struct{}
	seen  T // these two are set before done is closed
	err   error
}

// read returns what was seen. The first who finds nothing recent does the work; those who come meanwhile wait for it. An
// error is for those who waited for it, and the next one tries again.
func (s *shared[T]) read(ctx context.Context) (T, error) {
	s.mu.Lock()
	if s.isRecent() {
		defer s.mu.Unlock()
		return s.latest.seen, nil
	}
	if running := s.running; running != nil {
		s.mu.Unlock()
		return running.wait(ctx)
	}
	running := &sharedLook[T]{began: s.now(), done: make(chan struct{})}
	s.running = running
	s.mu.Unlock()
	s.run(running)
	return running.seen, running.err
}

// outdated says whether nothing that was seen, nor what is looked up now, is of use to anybody.
func (s *shared[T]) outdated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running == nil && !s.isRecent()
}

// isRecent says whether whoever asks may be given what was seen last. The lock is held.
func (s *shared[T]) isRecent() bool { return s.latest != nil && s.now().Sub(s.latest.began) < s.age }

func (l *sharedLook[T]) wait(ctx context.Context) (seen T, err error) {
	select {
	case <-l.done:
		return l.seen, l.err
	case <-ctx.Done():
		return seen, bus.Errorf(bus.StatusOf(ctx.Err()), "asking what is on the bus: %w", ctx.Err())
	}
}

// run looks for all who wait, hence not in the context of any of them.
func (s *shared[T]) run(running *sharedLook[T]) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if running.err == nil {
			s.latest = running
		}
		s.running = nil
		close(running.done)
	}()
	running.err = errors.New("asking what is on the bus came to no end") // unless it does
	running.seen, running.err = s.look(ctx, running.began)
}
