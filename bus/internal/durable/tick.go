package durable

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Tick is a tick of a timetable in the log.
type Tick struct {
	Time     time.Time
	Schedule string // that it is of
}

// Ticks returns the tick of a time, and the one before it. They are zero if the log does not have them.
func (t *Timetable) Ticks(ctx context.Context, at time.Time) (before, tick Tick, err error) {
	stream, err := t.of.find(ctx, t.of.Events())
	if err != nil {
		return Tick{}, Tick{}, t.of.failed(err)
	}
	search := tickSearch{stream: stream, subject: t.tick, at: at}
	if err := search.run(ctx); err != nil {
		return Tick{}, Tick{}, t.of.failed(err)
	}
	if tick = newTick(search.next); !tick.Time.Equal(at) {
		tick = Tick{}
	}
	return newTick(search.before), tick, nil
}

func newTick(found *jetstream.RawStreamMsg) Tick {
	if found == nil {
		return Tick{}
	}
	return Tick{found.Time, found.Header.Get(timetableTextHeader)}
}

// tickSearch looks for the last tick before a time. JetStream can only find the first from a sequence number on.
type tickSearch struct {
	stream  jetstream.Stream
	subject string
	at      time.Time

	before *jetstream.RawStreamMsg // nil: not found yet
	end    uint64                  // from this sequence number on there is none before the time
	next   *jetstream.RawStreamMsg // the first from there on; nil for none
}

// run looks further and further back from the last tick, until it finds one; then it halves what is behind that.
func (s *tickSearch) run(ctx context.Context) error {
	last, err := s.stream.GetLastMsgForSubject(ctx, s.subject)
	if err != nil {
		return ignoreMissing(err)
	}
	first := max(1, s.stream.CachedInfo().State.FirstSeq)
	s.end = max(first, last.Sequence+1)
	for step := uint64(2); s.before == nil && s.end > first; step *= 2 {
		if err := s.look(ctx, s.end-min(step, s.end-first)); err != nil {
			return err
		}
	}
	for s.before != nil && s.before.Sequence+1 < s.end {
		if err := s.look(ctx, s.before.Sequence+1+(s.end-s.before.Sequence-1)/2); err != nil {
			return err
		}
	}
	return nil
}

// look looks at the first tick from a sequence number on.
func (s *tickSearch) look(ctx context.Context, from uint64) error {
	found, err := s.first(ctx, from)
	switch {
	case err != nil:
		return err
	case found != nil && found.Time.Before(s.at):
		s.before = found
	default:
		s.end, s.next = from, found
	}
	return nil
}

// first returns the first tick from a sequence number on, nil for none. Other clients may publish to its subject.
func (s *tickSearch) first(ctx context.Context, from uint64) (*jetstream.RawStreamMsg, error) {
	for {
		found, err := s.stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(s.subject))
		if err != nil {
			return nil, ignoreMissing(err)
		}
		if found.Header.Get(timetableHeader) != "" {
			return found, nil
		}
		from = found.Sequence + 1
	}
}

// ignoreMissing returns no error for a message that the log does not have.
func ignoreMissing(err error) error {
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	return err
}
