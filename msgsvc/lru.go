package msgsvc

import (
	"slices"
	"sync"
	"time"
)

// lru holds the entries of one replica, bounded in bytes and in age. When there is no more room, the entry used
// least recently goes; one that is too old is never found, and goes when it is met.
type lru struct {
	maxBytes int
	maxAge   time.Duration
	now      func() time.Time

	mu    sync.Mutex // protects all below
	byKey map[string]*node
	ring  node // between the entry used most recently, next, and the one used least recently, previous
	bytes int
}

// node is an entry with its place in the order of use; or what is left of one that was replaced: its key, with the
// version of the store through another replica that replaced it.
type node struct {
	entry
	replaced       bool
	stored         time.Time // or replaced, by the clock of this replica
	used           time.Time // the zero time if it was replaced
	next, previous *node
}

func newLRU(maxBytes int, maxAge time.Duration, now func() time.Time) *lru {
	l := &lru{maxBytes: maxBytes, maxAge: maxAge, now: now, byKey: make(map[string]*node)}
	l.ring.next, l.ring.previous = &l.ring, &l.ring
	return l
}

// put keeps an entry that is stored now, unless it has a newer one of that key.
func (l *lru) put(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); l.makesWay(e) {
		l.add(&node{entry: e, stored: now, used: now}, &l.ring)
	}
	l.trim()
}

// take keeps entries that another replica has held, the one used most recently first. Each has the place among those
// that are here which its last use gives it: of all of them, the ones used least recently go.
func (l *lru) take(entries []handed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	entries = slices.DeleteFunc(entries, func(e handed) bool { return !l.makesWay(e.entry) })
	before := &l.ring
	for _, e := range entries {
		n := &node{entry: e.entry, stored: now.Add(-e.Age), used: now.Add(-e.Idle)}
		for before.next != &l.ring && before.next.used.After(n.used) {
			before = before.next
		}
		l.add(n, before)
	}
	l.trim()
}

// makesWay drops what is held of the key of an entry. It is false when that is newer, and stays.
func (l *lru) makesWay(e entry) bool {
	if e.size() > l.maxBytes {
		return false // another replica is larger than this one
	}
	held := l.byKey[string(e.Key)]
	if held == nil {
		return true
	}
	if held.Version.after(e.Version) {
		return false
	}
	l.remove(held)
	return true
}

// trim drops the entries used least recently until there are not too many.
func (l *lru) trim() {
	for l.bytes > l.maxBytes {
		l.remove(l.ring.previous)
	}
}

// get returns the entry of a key, which becomes the one used most recently. For an entry that was replaced it returns
// the version, as long as that is known: there is or was a later one elsewhere.
func (l *lru) get(key []byte) (e entry, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.byKey[string(key)]
	if held == nil {
		return entry{}, false
	}
	now := l.now()
	if now.Sub(held.stored) >= l.maxAge {
		l.remove(held)
		return entry{}, false
	}
	if held.replaced {
		return held.entry, false
	}
	l.remove(held)
	held.used = now
	l.add(held, &l.ring)
	return held.entry, true
}

// invalidate drops the entry of a key when it is older than a version, and returns its version when it is newer. What
// is left of an entry is smaller than it was, and the first to go when there is no more room.
func (l *lru) invalidate(key []byte, by version) (newer version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.byKey[string(key)]
	switch {
	case held == nil:
		return version{}
	case by.after(held.Version):
		l.remove(held)
		l.add(&node{entry: entry{Key: held.Key, Version: by}, replaced: true, stored: l.now()}, l.ring.previous)
		return version{}
	case held.Version.after(by):
		return held.Version
	default:
		return version{}
	}
}

// all returns what can be found, most recently used first.
func (l *lru) all() []handed {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	entries := make([]handed, 0, len(l.byKey))
	for at := l.ring.next; at != &l.ring; at = at.next {
		if age := now.Sub(at.stored); age < l.maxAge && !at.replaced {
			entries = append(entries, handed{entry: at.entry, Age: age, Idle: now.Sub(at.used)})
		}
	}
	return entries
}

// room returns how many bytes are free.
func (l *lru) room() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.maxBytes - l.bytes
}

// add gives a node its place in the order of use, after another one.
func (l *lru) add(n, before *node) {
	n.previous, n.next = before, before.next
	n.previous.next, n.next.previous = n, n
	l.byKey[string(n.Key)] = n
	l.bytes += n.size()
}

func (l *lru) remove(n *node) {
	n.previous.next, n.next.previous = n.next, n.previous
	delete(l.byKey, string(n.Key))
	l.bytes -= n.size()
}
