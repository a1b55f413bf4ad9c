package msgsvc

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/busline/busline/bus"
)

// cache keeps entries for all replicas of a service: what is stored through one is found through any. Keys and
// values are any bytes; a key has 1 to 1024 of them. All methods are safe for concurrent use.
//
// Errors have a status: 400 for a key that is none, 413 for an entry that is too large, 503 and 504 when the
// replicas or the broker could not be asked.
type cache interface {
	// Store keeps a value under a key, in place of the one before. After an error the value may be there or not.
	Store(ctx context.Context, key, value string) error
	// Load returns the value of a key. That there is none is not an error.
	Load(ctx context.Context, key string) (value string, found bool, err error)
	// Close ends this replica's part in the cache.
	Close(ctx context.Context) error
}

// maxKeyLength is the longest key in bytes. As a subject, where JetStream needs it, it is a third longer, and
// still far from the 4096 bytes that a broker takes.
const maxKeyLength = 1024

// entryOverhead is what an entry costs beside its key and its value, in bytes: the index and the list in memory,
// version and names in a message.
const entryOverhead = 256

// entrySize returns how many bytes an entry counts for, wherever a limit is.
func entrySize(keyLength, valueLength int) int { return keyLength + valueLength + entryOverhead }

// validKey refuses what cannot be a key, with status 400.
func validKey(key string) error {
	if key == "" {
		return bus.Errorf(http.StatusBadRequest, "the key is empty")
	}
	if len(key) > maxKeyLength {
		return bus.Errorf(http.StatusBadRequest, "a key of %d bytes exceeds the limit of %d", len(key), maxKeyLength)
	}
	return nil
}

// fits refuses an entry that is too large, with status 413.
func fits(key, value string, limit int) error {
	if size := entrySize(len(key), len(value)); size > limit {
		return bus.Errorf(http.StatusRequestEntityTooLarge,
			"an entry of %d bytes (key, value and %d of book-keeping) exceeds the limit of %d", size, entryOverhead, limit)
	}
	return nil
}

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

// join makes this replica known to the others. It does not wait: a replica that misses it learns of this replica with
// the first question.
func (s *sharedCache) join(ctx context.Context) {
	askAll[struct{}](ctx, s, "/join", bus.Args{})(func(struct{}, error) bool { return false })
}

// Store keeps the value here, and makes the other replicas drop what they held before.
func (s *sharedCache) Store(ctx context.Context, key, value string) error {
	if err := validKey(key); err != nil {
		return err
	}
	if err := fits(key, value, min(s.entries.maxBytes, s.messageLimit())); err != nil {
		return err
	}
	stored := entry{Key: []byte(key), Value: []byte(value), Version: s.clock.next(version{})}
	newer, err := s.place(ctx, stored)
	if err != nil || newer == (version{}) {
		return err
	}
	// Either the clock of another replica runs ahead, or another replica stores the same key right now. A version after
	// that one decides the first case. If there is a newer one once more, it is the second: either may win.
	stored.Version = s.clock.next(newer)
	newer, err = s.place(ctx, stored)
	s.entries.invalidate(stored.Key, newer)
	return err
}

// place keeps an entry here and notifies the others. It returns the newest version of that key if it is another one.
//
// Of two replicas that store one key at once, each keeps its own before it notifies the others: so at least one of them
// learns of the other, and one value is left.
func (s *sharedCache) place(ctx context.Context, placed entry) (newer version, err error) {
	if err := s.keep(ctx, placed); err != nil {
		return version{}, err
	}
	return s.invalidate(ctx, placed.Key, placed.Version)
}

// invalidate makes all replicas drop what they hold of a key from before a version. It returns the newest version after
// that one, if there is any.
func (s *sharedCache) invalidate(ctx context.Context, key []byte, by version) (newer version, failed error) {
	type answer struct {
		Newer version `json:"newer"`
	}
	for a, err := range askAll[answer](ctx, s, "/invalidate", bus.Args{"key": key, "by": by}) {
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
	var known version
	result, err := s.find(ctx, []byte(key))
	for result.isMissed() && result.latest.after(known) { // stored after one replica was asked, and before another was
		known = result.latest
		result, err = s.find(ctx, []byte(key))
	}
	if result.outdated { // left by a replica that was cut off for a while
		_, _ = s.invalidate(ctx, []byte(key), result.latest) // the next load will try again
	}
	if result.newest.Key == nil || result.isMissed() {
		return "", false, err
	}
	return string(result.newest.Value), true, nil
}

// finding is what the replicas answered for a key.
type finding struct {
	newest   entry   // the zero entry: no replica has one
	latest   version // of the last store that is known
	outdated bool    // a replica has an entry from before that
}

// isMissed reports whether no replica has what was stored last: its replica got it after it was asked, or has lost it.
func (f finding) isMissed() bool { return f.latest.after(f.newest.Version) }

// find asks all replicas. The error is of one that did not answer.
func (s *sharedCache) find(ctx context.Context, key []byte) (result finding, failed error) {
	type answer struct {
		Found bool  `json:"found"`
		Entry entry `json:"entry"`
	}
	for a, err := range askAll[answer](ctx, s, "/find", bus.Args{"key": key}) {
		if err != nil {
			failed = err
			continue
		}
		if a.Entry.Version.after(result.latest) {
			result.latest = a.Entry.Version
		}
		if !a.Found {
			continue
		}
		result.outdated = result.outdated || result.newest.Key != nil && a.Entry.Version != result.newest.Version
		if a.Entry.Version.after(result.newest.Version) {
			result.newest = a.Entry
		}
	}
	result.outdated = result.outdated || result.newest.Key != nil && result.isMissed()
	return result, failed
}

// messageLimit is the largest size of the entries in one message: bytes travel as base64, four for three.
func (s *sharedCache) messageLimit() int {
	return (int(s.conn.NATS().MaxPayload()) - headRoom) / 4 * 3
}
