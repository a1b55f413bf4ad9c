package msgsvc

import (
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

// node is an entry with its place in the order of use.
type node struct {
	entry
	next, previous *node
}

func newLRU(maxBytes int, maxAge time.Duration, now func() time.Time) *lru {
	l := &lru{maxBytes: maxBytes, maxAge: maxAge, now: now, byKey: make(map[string]*node)}
	l.ring.next, l.ring.previous = &l.ring, &l.ring
	return l
}

// put keeps an entry, unless it has a newer one of that key.
func (l *lru) put(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.size() > l.maxBytes {
		return // another replica is larger than this one
	}
	if held := l.byKey[string(e.Key)]; held != nil {
		if held.Stamp.after(e.Stamp) {
			return
		}
		l.remove(held)
	}
	l.add(&node{entry: e})
	for l.bytes > l.maxBytes {
		l.remove(l.ring.previous)
	}
}

// get returns the entry of a key, which becomes the one used most recently.
func (l *lru) get(key []byte) (e entry, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.byKey[string(key)]
	if held == nil {
		return entry{}, false
	}
	l.remove(held)
	if l.expired(held.entry) {
		return entry{}, false
	}
	l.add(held)
	return held.entry, true
}

// supersede drops the entry of a key when it is older than a stamp, and returns its stamp when it is newer.
func (l *lru) supersede(key []byte, by stamp) (newer stamp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.byKey[string(key)]
	switch {
	case held == nil:
		return stamp{}
	case by.after(held.Stamp):
		l.remove(held)
		return stamp{}
	case held.Stamp.after(by):
		return held.Stamp
	default:
		return stamp{}
	}
}

// all returns what can be found, most recently used first.
func (l *lru) all() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := make([]entry, 0, len(l.byKey))
	for at := l.ring.next; at != &l.ring; at = at.next {
		if !l.expired(at.entry) {
			entries = append(entries, at.entry)
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

func (l *lru) expired(e entry) bool {
	return l.now().UnixNano()-e.Stamp.Time >= l.maxAge.Nanoseconds()
}

// add makes a node the one used most recently.
func (l *lru) add(n *node) {
	n.previous, n.next = &l.ring, l.ring.next
	n.previous.next, n.next.previous = n, n
	l.byKey[string(n.Key)] = n
	l.bytes += n.size()
}

func (l *lru) remove(n *node) {
	n.previous.next, n.next.previous = n.next, n.previous
	delete(l.byKey, string(n.Key))
	l.bytes -= n.size()
}
