// Package compare says how a change of an API affects those who use it.
//
//	changes := compare.Documents(before, after)
//	changes[0].Text      // POST /add: the argument z is now required: callers that omit it get 422
//	changes[0].Breaks    // true
//
// A change breaks if it affects a caller, or a reader of answers, who knows only the old document: an argument may
// become less restricted and a result may contain more, but not the other way round.
package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/restmap/openapi"
)

// Change is one difference between two documents.
type Change struct {
	Breaks bool   // whether it breaks callers that follow the old document
	Text   string // one sentence: what has changed and whom it affects
}

// Documents returns the differences between two documents of one service, sorted by path; host names, descriptions and
// examples are ignored. It does not change the documents.
func Documents(before, after *openapi.Document) []Change {
	c := &comparison{before: before, after: after}
	old, now := operations(before), operations(after)
	for _, key := range slices.Sorted(maps.Keys(old)) {
		if other := now[key]; other != nil {
			c.operation(key, old[key], other)
		} else {
			c.gone(key, old[key], now)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if old[key] == nil && !c.moved[key] {
			c.addf(false, "%s (%s) is new", key, now[key].OperationID)
		}
	}
	return c.changes
}

// comparison collects changes.
type comparison struct {
	before, after *openapi.Document
	changes       []Change
	moved         map[string]bool // operations of after with another address before
}

func (c *comparison) addf(breaks bool, format string, arguments ...any) {
	change := Change{breaks, fmt.Sprintf(format, arguments...)}
	if !slices.Contains(c.changes, change) {
		c.changes = append(c.changes, change)
	}
}

// operations returns those of a document by "POST /add", with the port if it is not 443.
func operations(d *openapi.Document) map[string]*openapi.Operation {
	all := make(map[string]*openapi.Operation)
	for path, item := range d.Paths {
		for method, operation := range item.Operations() {
			all[method+" "+withoutHost(path)] = operation
		}
	}
	return all
}

// withoutHost returns /add for /calculator.example:443/add, and :444/add for one on port 444.
func withoutHost(path string) string {
	host, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if _, port, found := strings.Cut(host, ":"); found && port != "443" {
		return ":" + port + "/" + rest
	}
	return "/" + rest
}

// gone reports that an operation does not exist any more, or has moved.
func (c *comparison) gone(key string, operation *openapi.Operation, now map[string]*openapi.Operation) {
	for _, other := range slices.Sorted(maps.Keys(now)) {
		if now[other].OperationID != operation.OperationID {
			continue
		}
		if c.moved == nil {
			c.moved = make(map[string]bool)
		}
		c.moved[other] = true
		c.addf(true, "%s has moved to %s: callers of the old address get 404 or 405", key, other)
		c.operation(other, operation, now[other])
		return
	}
	c.addf(true, "%s (%s) is gone: callers get 404 or 405", key, operation.OperationID)
}
