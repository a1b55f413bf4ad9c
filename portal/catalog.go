package portal

import (
	"context"
	"time"

	"github.com/busline/busline/bus"
)

// maxAge is the largest age of a snapshot when a reader gets it, measured from the start of gathering. A snapshot is
// gathered while the reader waits, if there is none that recent.
const maxAge = 2 * time.Second

// catalog holds what one caller may see of the bus. However many readers it has, it gathers one snapshot at a time.
type catalog struct {
	conn     *bus.Conn
	token    string // of the caller, "" for an anonymous one
	ports    []int  // the public ones, which it describes
	patience patience
	roster   *roster

	snapshots shared[*snapshot]
}

func newCatalog(conn *bus.Conn, config *portalConfig, known *roster, token string) *catalog {
	c := &catalog{conn: conn, token: token, ports: config.ports, patience: config.patience, roster: known}
	c.snapshots = shared[*snapshot]{age: maxAge, timeout: config.patience.documents, now: config.now, look: c.gather}
	return c
}

// read returns a snapshot that is at most 2 s old.
func (c *catalog) read(ctx context.Context) (*snapshot, error) { return c.snapshots.read(ctx) }

// outdated says whether neither the latest snapshot nor one being gathered is of use to a reader.
func (c *catalog) outdated() bool { return c.snapshots.outdated() }
