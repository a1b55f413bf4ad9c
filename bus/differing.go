package bus

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Two versions of a service may run under one host. An instance announces the digest of its document after it has registered its endpoints,
// and the others compare; and it asks one of them. On a plane with allow_responses it does not ask, as a user that may publish to its own host
// could publish anywhere: see [Permissions].

const (
	compareAfter  = time.Second // after the last registration
	compareWithin = 5 * time.Second
	compareTries  = 3 // to reach another instance than itself

	maxCompared = 4096 // instances
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

// note notes what an instance has told, and returns whether its document is another one than the own, and was not met before.
func (d *differing) note(id string, told announcement) (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.instances == nil {
		d.instances, d.logged = make(map[string]announcement), make(map[string]bool)
	}
	if len(d.instances) < maxCompared {
		d.instances[id] = told
	}
	return d.isNewsLocked(told)
}

func (d *differing) isNewsLocked(told announcement) bool {
	if d.own == "" || told.Digest == d.own || d.logged[told.Digest] {
		return false
	}
	d.logged[told.Digest] = true
	return true
}

// is sets the own digest, and returns whether one of the others differs that was not met before.
func (d *differing) is(own string) (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.own = own
	for _, told := range d.instances {
		news = d.isNewsLocked(told) || news
	}
	return news
}

// list returns "k3xq27abcd (version 2)" for each that differs, sorted.
func (d *differing) list() (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, told := range d.instances {
		if d.own == "" || told.Digest == d.own {
			continue
		}
		if told.Version != "" {
			id += " (version " + told.Version + ")"
		}
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// DifferingInstances returns the instances of the own host that are known to have other documents than this one, such as those of another
// version: "k3xq27abcd (version 2)", sorted; nil for none. A second after its latest registration the connection announces its document,
// and asks one of the others, except with [WithAllowResponses]; the others are known once they announce theirs. It is safe for concurrent use.
func (c *Conn) DifferingInstances() []string { return c.differing.list() }

// differs notes what another instance of the own host has told.
func (c *Conn) differs(id string, told announcement) {
	if c.differing.note(id, told) {
		c.logDiffering()
	}
}

func (c *Conn) logDiffering() {
	c.log(c.logger.Warn().Strs("instances", c.differing.list()),
		"other instances of this host have other documents: callers get the one or the other; busline ls and the portal show which")
}

// compareDocuments announces the own document, and asks one other instance for its own. Errors are logged for those who debug: other means,
// such as the portal, show the same.
func (c *Conn) compareDocuments() {
	ctx, cancel := context.WithTimeout(c.life.base, compareWithin)
	defer cancel()
	own := c.documents.digest(c)
	if own == "" || c.isClosing() {
		return
	}
	if c.differing.is(own) {
		c.logDiffering()
	}
	c.announce(ctx, server.HelloPath, &announcement{own, c.config.version})
	to := &url.URL{Scheme: "https", Host: c.host + ":" + strconv.Itoa(subject.ControlPort), Path: "/digest"}
	for range compareTries {
		if c.config.allowResponses {
			return
		}
		question, err := client.NewOutgoing(http.MethodGet, to, nil, nil)
		if err != nil {
			return
		}
		var told struct{ ID, Version, Digest string }
		err = c.client.Ask(ctx, &question, func(response *wire.Response, failed error) bool { // a call could end in this process
			return failed == nil && json.Unmarshal(response.Body, &told) == nil
		})
		if err != nil {
			c.log(c.logger.Debug().Err(err), "cannot compare the documents with those of other instances")
			return
		}
		if told.ID != c.id && told.Digest != "" {
			c.differs(told.ID, announcement{told.Digest, told.Version})
			return
		}
	}
}

// operatorNotes has a sentence for all that operators should know of a connection that is healthy.
func (c *Conn) operatorNotes() (all []string) {
	for _, off := range c.Restrictions() {
		all = append(all, "restricted by the broker: "+off)
	}
	if others := c.DifferingInstances(); len(others) > 0 {
		all = append(all, "other documents at "+strings.Join(others, ", "))
	}
	return append(all, c.events.notes()...)
}
