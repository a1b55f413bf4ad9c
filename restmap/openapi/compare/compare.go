// Package compare says how a change of an API affects those who use it.
//
//	changes := compare.Documents(before, after)
//	changes[0].Text      // POST /add: the argument z is now required: callers that omit it get 422
//	changes[0].Breaks    // true
//
// A change breaks if it affects a caller, or a reader of answers, who knows only the old document: an argument may
// become less restricted and a result may contain more, but not the other way round. [Events] has the rules for events,
// whose arguments are read by those who know only the old document.
package compare

import (
	"fmt"
	"maps"
	"regexp"
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
	c := &comparison{before: before, after: after, known: make(map[string]bool)}
	old, now := operations(before), operations(after)
	for _, shape := range slices.Sorted(maps.Keys(old)) {
		if other := now[shape]; other != nil {
			c.operation(old[shape], other)
		} else if other := c.widened(old[shape], now); other != nil {
			c.operation(old[shape], other)
		} else {
			c.gone(old[shape], now)
		}
	}
	for _, shape := range slices.Sorted(maps.Keys(now)) {
		if old[shape] == nil && !c.known[shape] {
			c.addf(false, "%s (%s) is new", now[shape].key, now[shape].OperationID)
		}
	}
	return c.changes
}

// comparison collects changes.
type comparison struct {
	before, after *openapi.Document
	changes       []Change
	known         map[string]bool // operations of after with another address or method before, by shape
}

func (c *comparison) addf(breaks bool, format string, arguments ...any) {
	change := Change{breaks, fmt.Sprintf(format, arguments...)}
	if !slices.Contains(c.changes, change) {
		c.changes = append(c.changes, change)
	}
}

// located is an operation, and where it is.
type located struct {
	*openapi.Operation

	key   string   // "GET /things/{id}", with the port if it is not 443
	names []string // of the arguments in the path, in order
}

// parameterPattern matches what stands for an argument in a path.
var parameterPattern = regexp.MustCompile(`\{[^/{}]*\}`)

// operations returns those of a document by what callers send: "GET /things/{}", as nobody sends the name of an argument
// in the path.
func operations(d *openapi.Document) map[string]*located {
	all := make(map[string]*located)
	for path, item := range d.Paths {
		for method, operation := range item.Operations() {
			found := &located{Operation: operation, key: method + " " + withoutHost(path)}
			for _, name := range parameterPattern.FindAllString(path, -1) {
				found.names = append(found.names, strings.Trim(name, "{}"))
			}
			all[openapi.ShapeOf(found.key)] = found
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

// gone reports that an operation does not exist any more, or has moved. What is hidden is in no document, but answers.
func (c *comparison) gone(operation *located, now map[string]*located) {
	for _, shape := range slices.Sorted(maps.Keys(now)) {
		other := now[shape]
		if other.OperationID != operation.OperationID {
			continue
		}
		c.known[shape] = true
		c.addf(true, "%s has moved to %s: callers of the old address get 404 or 405", operation.key, other.key)
		c.operation(operation, other)
		return
	}
	c.addf(true, "%s (%s) is gone: unless it is only hidden, callers get 404 or 405", operation.key, operation.OperationID)
}
