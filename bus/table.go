package bus

import (
	"maps"
	"sync"
)

// table keeps what was made for a key. The zero value is empty; it is safe for concurrent use.
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

// all returns what there is.
func (t *table[K, V]) all() map[K]V {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return maps.Clone(t.made)
}
