package client

import "sync"

// Takers are the instances that have acked the current attempt at a call, for another goroutine than the caller's. They
// are safe for concurrent use; nil has none.
type Takers struct {
	mu      sync.Mutex   // protects attempt
	attempt *pendingCall // nil while there is none
}

// watch sets the current attempt; nil for none.
func (t *Takers) watch(attempt *pendingCall) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attempt = attempt
}

// IDs returns the ids of these instances.
func (t *Takers) IDs() []string {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.attempt == nil {
		return nil
	}
	acked := t.attempt.unanswered()
	ids := make([]string, len(acked))
	for i, each := range acked {
		ids[i] = each.ID
	}
	return ids
}
