package msgsvc

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/busline/busline/bus"
)

// Close hands the entries over. They are found here too until the connection is closed, so that none is missing
// at any time.
func (s *sharedCache) Close(ctx context.Context) error {
	if s.closing.Swap(true) {
		return nil
	}
	return s.drain(ctx, s.entries.all())
}

// keep holds an entry here, and in another replica too once this one is closing: whatever was put before that is
// handed over by Close.
func (s *sharedCache) keep(ctx context.Context, e entry) error {
	s.entries.put(e)
	if s.closing.Load() {
		return s.drain(ctx, []handed{{entry: e}})
	}
	return nil
}

// drain gives entries to replicas that are not closing themselves, the first ones first in case ctx ends. If there is
// no such replica the entries are gone, which is not an error.
func (s *sharedCache) drain(ctx context.Context, entries []handed) error {
	if len(entries) == 0 {
		return nil
	}
	candidates, failed := s.candidates(ctx)
	lost := 0
	for batch := range batches(entries, s.messageLimit()) {
		rest, err := s.give(ctx, candidates, batch)
		if candidates = rest; len(candidates) == 0 {
			lost += len(batch)
			failed = cmp.Or(failed, err)
		}
	}
	if failed != nil && lost > 0 {
		return fmt.Errorf("%d of %d cache entries were not handed over: %w", lost, len(entries), failed)
	}
	return nil
}

// candidate is a replica that may take entries.
type candidate struct {
	ID      string `json:"id"`
	Room    int    `json:"room"` // bytes
	Closing bool   `json:"closing"`
}

// candidates returns the replicas that are not closing; the error is of one that did not say.
func (s *sharedCache) candidates(ctx context.Context) (candidates []candidate, failed error) {
	for asked, err := range askAll[candidate](ctx, s, "/room", bus.Args{}) {
		if err != nil {
			failed = err
		} else if !asked.Closing {
			candidates = append(candidates, asked)
		}
	}
	return candidates, failed
}

// give hands a batch to the replica with the most room. It returns the candidates that are left, none when the batch
// was not taken.
func (s *sharedCache) give(ctx context.Context, candidates []candidate,
	batch []handed) (rest []candidate, failed error) {
	type answer struct {
		Taken bool `json:"taken"`
	}
	for len(candidates) > 0 {
		slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.Room, a.Room) })
		roomiest := &candidates[0]
		a, err := askOne[answer](ctx, s, roomiest.ID, "/take", bus.Args{"entries": batch})
		if err == nil && a.Taken {
			roomiest.Room -= sizeOf(batch)
			s.revoke(ctx, roomiest.ID, batch)
			return candidates, nil
		}
		if !isGone(err) {
			failed = cmp.Or(failed, err)
		}
		candidates = candidates[1:]
	}
	return nil, failed
}

// revoke makes a candidate drop what was replaced while it was on its way there: the instance that replaced it has
// notified the candidate before.
func (s *sharedCache) revoke(ctx context.Context, candidate string, batch []handed) {
	for _, e := range batch {
		if newer := s.entries.invalidate(e.Key, e.Version); newer != (version{}) {
			// a load will try again
			_, _ = askOne[struct{}](ctx, s, candidate, "/invalidate", bus.Args{"key": e.Key, "by": newer})
		}
	}
}

// batches cuts entries into pieces that each fit one message.
func batches(entries []handed, limit int) iter.Seq[[]handed] {
	return func(yield func([]handed) bool) {
		for len(entries) > 0 {
			count, size := 1, entries[0].size()
			for count < len(entries) && size+entries[count].size() <= limit {
				size += entries[count].size()
				count++
			}
			if !yield(entries[:count]) {
				return
			}
			entries = entries[count:]
		}
	}
}

func sizeOf(entries []handed) (bytes int) {
	for _, e := range entries {
		bytes += e.size()
	}
	return bytes
}
