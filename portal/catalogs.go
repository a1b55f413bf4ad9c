package portal

import (
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// maxCatalogs bounds for how many callers at a time a catalog is kept. What one more asks for is made anew.
const maxCatalogs = 128

// catalogs has a catalog for each caller, by token: two callers never share what one of them may not see. A catalog that
// has grown old is forgotten.
type catalogs struct {
	conn   *bus.Conn
	config *portalConfig

	mu      sync.Mutex // protects all below
	byToken map[string]*catalog
	swept   time.Time
}

func newCatalogs(conn *bus.Conn, config *portalConfig) *catalogs {
	return &catalogs{conn: conn, config: config, byToken: make(map[string]*catalog)}
}

// of returns the catalog of a caller, "" for nobody. When there are too many, any but that of nobody makes room.
func (c *catalogs) of(token string) *catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep(c.config.now())
	if known := c.byToken[token]; known != nil {
		return known
	}
	for other := range c.byToken {
		if len(c.byToken) < maxCatalogs {
			break
		}
		if other != "" {
			delete(c.byToken, other)
		}
	}
	made := newCatalog(c.conn, c.config, token)
	c.byToken[token] = made
	return made
}

// sweep forgets, from time to time, what nobody is given any more. The lock is held.
func (c *catalogs) sweep(now time.Time) {
	if now.Sub(c.swept) < maxAge {
		return
	}
	c.swept = now
	for token, of := range c.byToken {
		if of.outdated() {
			delete(c.byToken, token)
		}
	}
}
