package claims

import (
	"crypto/sha256"
	"sync"
	"time"
)

// Limits of half a cache. When one of them is reached the older half is forgotten.
const (
	maxCachedTokens = 4096
	maxCachedBytes  = 4 << 20 // of the tokens; their claims take a few times as much
)

// cache remembers accepted tokens, by their hash: a token itself is a secret that need not be kept. It is safe for concurrent use.
type cache struct {
	mu           sync.RWMutex // protects what is below
	young, older map[[sha256.Size]byte]accepted
	bytes        int // of the tokens in young
}

// accepted is a token that was good when it was seen, and is until it expires.
type accepted struct {
	claims Claims
	expiry time.Time
}

func newCache() cache {
	return cache{young: make(map[[sha256.Size]byte]accepted)}
}

// get returns the claims of an accepted token, nil when there is none or it has expired.
func (c *cache) get(hash [sha256.Size]byte, now time.Time) Claims {
	c.mu.RLock()
	entry, found := c.young[hash]
	if !found {
		entry, found = c.older[hash]
	}
	c.mu.RUnlock()
	if !found || !now.Before(entry.expiry) {
		return nil
	}
	return entry.claims
}

// put remembers an accepted token of that many bytes.
func (c *cache) put(hash [sha256.Size]byte, size int, entry accepted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= maxCachedTokens || c.bytes+size > maxCachedBytes {
		c.young, c.older, c.bytes = make(map[[sha256.Size]byte]accepted), c.young, 0
	}
	c.young[hash] = entry
	c.bytes += size
}
