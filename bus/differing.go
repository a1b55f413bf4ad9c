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
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Two versions of a service may run under one host. An instance asks the others once for the digests of their documents, after it has
// registered its endpoints and off the path of any call. On a plane with allow_responses it does not, as a user that may publish to its own
// host could publish anywhere: see [Permissions].

// How long after the last registration an instance compares, and how long it waits for the answers.
const (
	compareAfter  = time.Second
	compareWithin = 5 * time.Second
)

// differing knows the instances of the own host with other documents. The zero value knows none.
type differing struct {
	mu        sync.Mutex        // protects all below
	next      *time.Timer       // of the next comparison; nil before the first registration
	instances map[string]string // version by instance ID
	cancel    func()            // of a comparison under way; nil for none
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
	if d.cancel != nil {
		d.cancel()
	}
}

// begin notes how to end a comparison, and reports whether it may go on.
func (d *differing) begin(cancel func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cancel = cancel
	return !d.ended
}

// forget removes an instance that leaves.
func (d *differing) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.instances, id)
}

func (d *differing) replace(with map[string]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.instances = with
}

// list returns "k3xq27abcd (version 2)" for each, sorted.
func (d *differing) list() (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, version := range d.instances {
		if version != "" {
			id += " (version " + version + ")"
		}
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// DifferingInstances returns the instances of the own host that were found to have other documents than this one, such as those of another
// version: "k3xq27abcd (version 2)", sorted; nil for none. The connection looks for them a second after its latest registration, except
// with [WithAllowResponses]; later ones find this one. It is safe for concurrent use.
func (c *Conn) DifferingInstances() []string { return c.differing.list() }

// compareDocuments asks the instances of the own host for their digests. Errors are logged for those who debug: other means, such as the
// portal, show the same.
func (c *Conn) compareDocuments() {
	ctx, cancel := context.WithTimeout(c.life.base, compareWithin)
	defer cancel()
	if !c.differing.begin(cancel) {
		return
	}
	own := c.documents.digest(c)
	ping, err := client.NewOutgoing(http.MethodGet, &url.URL{Scheme: "https", Host: c.host + ":" + strconv.Itoa(subject.ControlPort), Path: "/ping"}, nil, nil)
	if err != nil || own == "" {
		return
	}
	found := make(map[string]string)
	err = c.client.Ask(ctx, &ping, func(response *wire.Response, failed error) bool {
		var told struct{ Version, Digest string }
		if failed == nil && json.Unmarshal(response.Body, &told) == nil && told.Digest != "" && told.Digest != own {
			found[response.FromID] = told.Version
		}
		return true
	})
	if err != nil {
		c.log(c.logger.Debug().Err(err), "cannot compare the documents with those of other instances")
		return
	}
	differs := len(found) > 0
	c.differing.replace(found) // which shares it from now on
	if differs {
		c.log(c.logger.Warn().Strs("instances", c.differing.list()),
			"other instances of this host have other documents: callers get the one or the other; busline ls and the portal show which")
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
