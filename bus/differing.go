package bus

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/server"
)

// Two versions of a service may run under one host. An instance announces the digest of its document after it has
// registered its endpoints, and the others compare.

const (
	compareAfter  = time.Second // after the last registration
	compareWithin = 5 * time.Second
	maxCompared   = 4096 // instances
)

// differing knows the documents of other instances of the own host. The zero value knows none.
type differing struct {
	mu        sync.Mutex              // protects all below
	next      *time.Timer             // of the next announcement; nil before the first registration
	own       string                  // digest; "" before it was announced
	instances map[string]announcement // by instance ID
	logged    map[string]bool         // digests
	ended     bool
}

// schedule has compare run soon, once for all registrations until then.
func (d *differing) schedule(compare func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.ended:
	case d.next == nil:
		d.next = time.AfterFunc(compareAfter, compare)
	default:
		d.next.Reset(compareAfter)
	}
}

func (d *differing) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended = true; d.next != nil {
		d.next.Stop()
	}
}

// forget removes an instance that leaves.
func (d *differing) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.instances, id)
}

// note notes the announcement of an instance, and returns whether its document is another one than the own, and was not
// met before.
func (d *differing) note(id string, other announcement) (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.instances == nil {
		d.instances, d.logged = make(map[string]announcement), make(map[string]bool)
	}
	if len(d.instances) < maxCompared {
		d.instances[id] = other
	}
	return d.isNewsLocked(other)
}

func (d *differing) isNewsLocked(other announcement) bool {
	if d.own == "" || other.Digest == d.own || d.logged[other.Digest] || len(d.logged) >= maxCompared {
		return false
	}
	d.logged[other.Digest] = true
	return true
}

// is sets the own digest, and returns whether one of the others differs that was not met before, and whether the others
// may know another digest of this instance.
func (d *differing) is(own string) (news, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known = d.own != ""
	d.own = own
	for _, other := range d.instances {
		news = d.isNewsLocked(other) || news
	}
	return news, known
}

// list returns "k3xq27abcd (version 2)" for each that differs, sorted.
func (d *differing) list() (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, other := range d.instances {
		if d.own == "" || other.Digest == d.own {
			continue
		}
		if other.Version != "" {
			id += " (version " + other.Version + ")"
		}
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// DifferingInstances returns the instances of the own host that have other documents than this one, such as those of
// another version: "k3xq27abcd (version 2)", sorted; nil for none. An instance announces its document a second after
// its latest registration, so those are found that have come since this one did; they do not learn of it, as no one
// answers. It is safe for concurrent use.
func (c *Conn) DifferingInstances() []string { return c.others.differing.list() }

// differs notes the announcement of another instance of the own host.
func (c *Conn) differs(id string, other announcement) {
	if c.others.differing.note(id, other) {
		c.logDiffering()
	}
}

func (c *Conn) logDiffering() {
	c.log(c.limitedLine(zerolog.WarnLevel, "other documents").Strs("instances", c.others.differing.list()),
		"other instances of this host have other documents: callers get the one or the other; busline ls and the portal "+
			"show which")
}

// compareDocuments announces the own document.
func (c *Conn) compareDocuments() {
	ctx, cancel := context.WithTimeout(c.life.base, compareWithin)
	defer cancel()
	own := c.documents.digest(c)
	if c.isClosing() {
		return
	}
	news, known := c.others.differing.is(own)
	if own == "" && !known {
		return
	}
	if news {
		c.logDiffering()
	}
	c.announce(ctx, server.HelloPath, &announcement{own, c.config.version})
}

// operatorNotes has a sentence for all that operators should know of a connection that is healthy.
func (c *Conn) operatorNotes() (all []string) {
	for _, off := range c.Restrictions() {
		all = append(all, "restricted by the broker: "+off)
	}
	if others := c.DifferingInstances(); len(others) > 0 {
		all = append(all, "other documents at "+strings.Join(others, ", "))
	}
	for _, each := range c.extensions.All() {
		all = append(all, each.Notes()...)
	}
	return all
}
