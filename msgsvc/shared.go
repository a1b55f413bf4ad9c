package msgsvc

import (
	"context"
	"sync/atomic"

	"github.com/busline/busline/bus"
)

// headRoom is what a message may need beside the entries in it, in bytes: its head, and the names around them.
const headRoom = 4 << 10

// sharedCache is the part of the cache that one replica holds in its memory, with the way to the others.
type sharedCache struct {
	conn    *bus.Conn
	entries *lru
	clock   *clock
	peers   *peers
	closing atomic.Bool
}

func openSharedCache(ctx context.Context, conn *bus.Conn, c config) (*sharedCache, error) {
	s := &sharedCache{
		conn:    conn,
		entries: newLRU(c.cacheSize, c.cacheAge, c.now),
		clock:   &clock{id: conn.ID(), now: c.now},
		peers:   newPeers(),
	}
	if err := serveReplica(s); err != nil {
		return nil, err
	}
	s.join(ctx)
	return s, nil
}

// join makes this replica known to the others. It waits for nobody: who misses it hears of this replica with the
// first question.
func (s *sharedCache) join(ctx context.Context) {
	askAll[struct{}](ctx, s, "/join", bus.Args{})(func(struct{}, error) bool { return false })
}

// Store keeps the value here, and has the other replicas drop what they held before.
func (s *sharedCache) Store(ctx context.Context, key, value string) error {
	if err := validKey(key); err != nil {
		return err
	}
	if err := fits(key, value, min(s.entries.maxBytes, s.messageLimit())); err != nil {
		return err
	}
	stored := entry{Key: []byte(key), Value: []byte(value), Stamp: s.clock.next(stamp{})}
	newer, err := s.place(ctx, stored)
	if err != nil || newer == (stamp{}) {
		return err
	}
	// Either the clock of another replica runs ahead, or somebody stores the same key right now. A stamp after
	// that one settles the first case. If there is a newer one once more, it is the second: either may win.
	stored.Stamp = s.clock.next(newer)
	newer, err = s.place(ctx, stored)
	s.entries.supersede(stored.Key, newer)
	return err
}

// place keeps an entry here and tells the others. It returns the newest stamp of that key if it is another one.
//
// Of two replicas that store one key at once, each keeps its own before it tells: so at least one of them hears
// of the other, and one value is left.
func (s *sharedCache) place(ctx context.Context, placed entry) (newer stamp, err error) {
	if err := s.keep(ctx, placed); err != nil {
		return stamp{}, err
	}
	return s.supersede(ctx, placed.Key, placed.Stamp)
}

// supersede has all replicas drop what they hold of a key from before a stamp. It returns the newest stamp after
// that one, if there is any.
func (s *sharedCache) supersede(ctx context.Context, key []byte, by stamp) (newer stamp, failed error) {
	type answer struct {
		Newer stamp `json:"newer"`
	}
	for a, err := range askAll[answer](ctx, s, "/supersede", bus.Args{"key": key, "by": by}) {
		if err != nil {
			failed = err
		} else if a.Newer.after(newer) {
			newer = a.Newer
		}
	}
	return newer, failed
}

// Load asks all replicas, and takes the newest answer. It fails when there is none and a replica did not answer.
func (s *sharedCache) Load(ctx context.Context, key string) (value string, found bool, err error) {
	if err := validKey(key); err != nil {
		return "", false, err
	}
	var known stamp
	told, err := s.find(ctx, []byte(key))
	for told.isMissed() && told.latest.after(known) { // stored after one replica was asked, and before another was
		known = told.latest
		told, err = s.find(ctx, []byte(key))
	}
	if told.outdated { // left by a replica that was cut off for a while
		_, _ = s.supersede(ctx, []byte(key), told.latest) // the next load will try again
	}
	if told.newest.Key == nil || told.isMissed() {
		return "", false, err
	}
	return string(told.newest.Value), true, nil
}

// finding is what the replicas tell of a key.
type finding struct {
	newest   entry // the zero entry: nobody has one
	latest   stamp // of the last store that anybody knows of
	outdated bool  // somebody has an entry from before that
}

// isMissed is true when nobody has what was stored last: its replica got it after it was asked, or has lost it.
func (f finding) isMissed() bool { return f.latest.after(f.newest.Stamp) }

// find asks all replicas. The error is of one that did not answer.
func (s *sharedCache) find(ctx context.Context, key []byte) (told finding, failed error) {
	type answer struct {
		Found bool  `json:"found"`
		Entry entry `json:"entry"`
	}
	for a, err := range askAll[answer](ctx, s, "/find", bus.Args{"key": key}) {
		if err != nil {
			failed = err
			continue
		}
		if a.Entry.Stamp.after(told.latest) {
			told.latest = a.Entry.Stamp
		}
		if !a.Found {
			continue
		}
		told.outdated = told.outdated || told.newest.Key != nil && a.Entry.Stamp != told.newest.Stamp
		if a.Entry.Stamp.after(told.newest.Stamp) {
			told.newest = a.Entry
		}
	}
	told.outdated = told.outdated || told.newest.Key != nil && told.isMissed()
	return told, failed
}

// messageLimit is the largest size of the entries in one message: bytes travel as base64, four for three.
func (s *sharedCache) messageLimit() int {
	return (int(s.conn.NATS().MaxPayload()) - headRoom) / 4 * 3
}
