package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/openapi"
)

// Events is [Documents] for the events of a source, by their names. The source writes what subscribers read and check:
// an event may contain more, and its arguments may be more restricted, but not the other way round. If events were
// stored, what was stored must also suit new subscribers, which leaves less to change.
func Events(before, after *openapi.Document) []Change {
	c := &comparison{before: before, after: after}
	old, now := events(before), events(after)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if other := now[name]; other != nil {
			c.event(name, old[name], other)
		} else {
			c.addf(true, "%s is no longer fired: old subscribers get nothing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old[name] == nil {
			c.addf(false, "%s is new", name)
		}
	}
	return c.changes
}

// events returns the operations of a document by their names.
func events(d *openapi.Document) map[string]*openapi.Operation {
	all := make(map[string]*openapi.Operation)
	for _, item := range d.Paths {
		for _, operation := range item.Operations() {
			all[operation.OperationID] = operation
		}
	}
	return all
}

// event compares the arguments of one event, and whether it is stored. What it is answered with is not the source's.
func (c *comparison) event(name string, old, now *openapi.Operation) {
	switch {
	case old.Stored && !now.Stored:
		c.addf(true, "%s is no longer stored: subscribers that want what is stored get nothing", name)
	case now.Stored && !old.Stored:
		c.addf(false, "%s is now stored", name)
	}
	nothing := &schema.Schema{Type: "object"}
	before, after := cmp.Or(bodyOf(old), nothing), cmp.Or(bodyOf(now), nothing)
	c.walk(fired, name, "the body", before, after)
	if old.Stored {
		c.walk(stored, name, "the body", before, after)
	}
}
