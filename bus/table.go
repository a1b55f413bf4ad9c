package bus

import (
	"maps"
	"sync"
)

// table keeps what was made for a key. The zero value is empty; it may be used by many goroutines at once.
type table[K comparable, V any] struct {
	mu   sync.RWMutex // protects made
	made map[K]V
}

// get returns what was made for a key, and creates it when there is nothing yet.
func (t *table[K, V]) get(key K, create func(K) V) V {
	t.mu.RLock()
	known, ok := t.made[key]
	t.mu.RUnlock()
	if ok {
		return known
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.made[key]; ok {
		return known
	}
	if t.made == nil {
		t.made = map[K]V{}
	}
	t.made[key] = create(key)
	return t.made[key]
}

// getWithin is get as long as there are fewer keys than a limit; then it is get of another key for what is new. Several
// goroutines at once may go a little beyond the limit.
func (t *table[K, V]) getWithin(limit int, key, instead K, create func(K) V) V {
	t.mu.RLock()
	known, ok := t.made[key]
	full := len(t.made) >= limit
	t.mu.RUnlock()
	switch {
	case ok:
		return known
	case full:
		return t.get(instead, create)
	default:
		return t.get(key, create)
	}
}

// all returns what there is.
func (t *table[K, V]) all() map[K]V {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return maps.Clone(t.made)
}
