package portal

import (
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// maxCatalogs bounds how many callers have a catalog at a time.
const maxCatalogs = 128

// catalogs has a catalog for each caller, by token, so that callers with different rights never share one. Catalogs
// that nobody uses are forgotten.
type catalogs struct {
	conn   *bus.Conn
	config *portalConfig
	roster roster // shared, as all callers see the same instances

	mu      sync.Mutex // protects all fields below
	byToken map[string]*catalog
	swept   time.Time
}

func newCatalogs(conn *bus.Conn, config *portalConfig) *catalogs {
	return &catalogs{conn: conn, config: config, byToken: make(map[string]*catalog)}
}

// of returns the catalog of a caller, "" for an anonymous one. If there are too many, any other except the anonymous
// one is evicted.
func (c *catalogs) of(token string) *catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweepLocked(c.config.now())
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
	made := newCatalog(c.conn, c.config, &c.roster, token)
	c.byToken[token] = made
	return made
}

// sweepLocked forgets outdated catalogs, from time to time.
func (c *catalogs) sweepLocked(now time.Time) {
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
