package logqueue

import (
	"slices"
	"sync"
)

// maxOnce bounds the texts that a Once remembers.
const maxOnce = 20

// Once finds the texts that were not logged before. The zero value is ready to use, and safe for concurrent use.
type Once struct {
	mu    sync.Mutex // protects known
	known []string
}

// IsFirst reports whether a text is to be logged: it is new, and among the first 20.
func (o *Once) IsFirst(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) >= maxOnce || slices.Contains(o.known, text) {
		return false
	}
	o.known = append(o.known, text)
	return true
}
