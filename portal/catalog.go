package portal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// A snapshot is at most 2 s behind the bus: gathering begins no more than maxAge before a reader asks, or while it
// waits, and takes no longer than gatherTimeout.
const (
	maxAge        = 2 * time.Second
	gatherTimeout = 1500 * time.Millisecond
)

// catalog knows what of the bus is shown to one caller. However many readers there are, it looks once at a time.
type catalog struct {
	conn  *bus.Conn
	token string // of the caller, "" for nobody
	ports []int  // that are described
	now   func() time.Time

	mu      sync.Mutex // protects all below
	latest  *snapshot
	running *gathering
}

// gathering is a look at the bus that has begun.
type gathering struct {
	done chan struct{}
	made *snapshot // these two are set before done is closed
	err  error
}

// read returns what is served, as it was no more than 2 s ago. The first reader who finds nothing recent does the work;
// those who come meanwhile wait for it.
func (c *catalog) read(ctx context.Context) (*snapshot, error) {
	c.mu.Lock()
	if latest := c.latest; latest.recent(c.now()) {
		c.mu.Unlock()
		return latest, nil
	}
	if running := c.running; running != nil {
		c.mu.Unlock()
		return running.wait(ctx)
	}
	running := &gathering{done: make(chan struct{})}
	c.running = running
	c.mu.Unlock()
	c.run(running)
	return running.made, running.err
}

// outdated says whether nothing in the catalog, nor under way to it, is of use to a reader.
func (c *catalog) outdated(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running == nil && !c.latest.recent(now)
}

func (g *gathering) wait(ctx context.Context) (*snapshot, error) {
	select {
	case <-g.done:
		return g.made, g.err
	case <-ctx.Done():
		return nil, fmt.Errorf("asking what is on the bus: %w", ctx.Err())
	}
}

// run gathers for all who wait, hence not in the context of any of them.
func (c *catalog) run(running *gathering) {
	ctx, cancel := context.WithTimeout(bus.ActAs(context.Background(), c.token), gatherTimeout)
	defer cancel()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if running.made != nil {
			c.latest = running.made
		}
		c.running = nil
		close(running.done)
	}()
	running.err = errors.New("asking what is on the bus came to no end") // unless it does
	running.made, running.err = c.gather(ctx, c.now())
}
