package portal

import (
	"context"
	"time"

	"github.com/busline/busline/bus"
)

// maxAge is how far a snapshot is behind the bus at most: gathering begins no earlier before a reader asks, or while it
// waits.
const maxAge = 2 * time.Second

// catalog knows what of the bus is shown to one caller. However many readers there are, it looks once at a time.
type catalog struct {
	conn     *bus.Conn
	token    string // of the caller, "" for nobody
	ports    []int  // that are described
	patience patience

	snapshots shared[*snapshot]
}

func newCatalog(conn *bus.Conn, config *portalConfig, token string) *catalog {
	c := &catalog{conn: conn, token: token, ports: config.ports, patience: config.patience}
	c.snapshots = shared[*snapshot]{age: maxAge, timeout: config.patience.documents, now: config.now, look: c.gather}
	return c
}

// read returns what is served, as it was no more than 2 s ago.
func (c *catalog) read(ctx context.Context) (*snapshot, error) { return c.snapshots.read(ctx) }

// outdated says whether nothing in the catalog, nor under way to it, is of use to a reader.
func (c *catalog) outdated() bool { return c.snapshots.outdated() }
