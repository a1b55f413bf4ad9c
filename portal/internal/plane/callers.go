package plane

import (
	"maps"
	"sync"
	"time"
)

// MaxCallers bounds how many callers have something at a time.
const MaxCallers = 128

// Times of what is kept for callers.
const (
	callerAge  = 20 * time.Second // since the last use; the page asks every 4 s
	sweepPause = 2 * time.Second
)

// Callers keeps something for each caller, by token, so that callers with different rights never share it. What is not
// used is forgotten. Its methods are safe for concurrent use.
type Callers[T any] struct {
	Make func(token string) T
	Now  func() time.Time

	mu      sync.Mutex // protects all below
	byToken map[string]*keptForCaller[T]
	swept   time.Time
}

type keptForCaller[T any] struct {
	kept T
	used time.Time
}

// Of returns what is kept for a caller, "" for an anonymous one. If there are too many, any other except the anonymous
// one is evicted.
func (c *Callers[T]) Of(token string) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	c.sweepLocked(now)
	if known := c.byToken[token]; known != nil {
		known.used = now
		return known.kept
	}
	for other := range c.byToken {
		if len(c.byToken) < MaxCallers {
			break
		}
		if other != "" {
			delete(c.byToken, other)
		}
	}
	if c.byToken == nil {
		c.byToken = make(map[string]*keptForCaller[T])
	}
	c.byToken[token] = &keptForCaller[T]{c.Make(token), now}
	return c.byToken[token].kept
}

// Count returns for how many callers something is kept.
func (c *Callers[T]) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byToken)
}

// sweepLocked forgets what is not used any more, from time to time.
func (c *Callers[T]) sweepLocked(now time.Time) {
	if now.Sub(c.swept) < sweepPause {
		return
	}
	c.swept = now
	maps.DeleteFunc(c.byToken, func(_ string, of *keptForCaller[T]) bool { return now.Sub(of.used) > callerAge })
}
