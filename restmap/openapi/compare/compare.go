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

// Documents returns the differences between two documents, sorted by path; descriptions and examples are ignored, and
// so is the name of the host where each document has a single one. It does not change the documents.
func Documents(before, after *openapi.Document) []Change {
	c := &comparison{before: before, after: after, known: make(map[string]bool)}
	c.hosts = severalHosts(before) || severalHosts(after)
	old, now := c.operations(before), c.operations(after)
	for shape := range old {
		c.known[shape] = true
	}
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
		if !c.known[shape] {
			c.addf(false, "%s (%s) is new", now[shape].key, now[shape].OperationID)
		}
	}
	return c.changes
}

// comparison collects changes.
type comparison struct {
	before, after *openapi.Document
	changes       []Change
	// operations of after that were there before, even with another address or method, by shape
	known map[string]bool
	hosts bool // paths are those of several hosts, as in the document of a portal
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

	key   string   // "GET /things/{id}", with the port if it is not 443, and with the host if there are several
	names []string // of the arguments in the path, in order
}

// parameterPattern matches what stands for an argument in a path.
var parameterPattern = regexp.MustCompile(`\{[^/{}]*\}`)

// operations returns those of a document by what callers send: "GET /things/{}", as callers do not send the name of an
// argument in the path.
func (c *comparison) operations(d *openapi.Document) map[string]*located {
	all := make(map[string]*located)
	for path, item := range d.Paths {
		for method, operation := range item.Operations() {
			found := &located{Operation: operation, key: method + " " + c.address(path)}
			for _, name := range parameterPattern.FindAllString(path, -1) {
				found.names = append(found.names, strings.Trim(name, "{}"))
			}
			all[openapi.CanonicalPath(found.key)] = found
		}
	}
	return all
}

// address returns /add for /calculator.example:443/add, and :444/add for one on port 444; both behind the host if there
// are several.
func (c *comparison) address(path string) string {
	host, port, rest := split(path)
	if !c.hosts {
		host = ""
	}
	if port != "" && port != "443" {
		host += ":" + port
	}
	return host + "/" + rest
}

// severalHosts reports whether the paths of a document are those of more than one host.
func severalHosts(d *openapi.Document) bool {
	hosts := make(map[string]bool)
	for path := range d.Paths {
		host, _, _ := split(path)
		hosts[host] = true
	}
	return len(hosts) > 1
}

// split splits the path of a document, /calculator.example:443/add.
func split(path string) (host, port, rest string) {
	authority, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	host, port, _ = strings.Cut(authority, ":")
	return host, port, rest
}

// gone reports that an operation does not exist any more, or has moved. What is hidden is in no document, but answers.
func (c *comparison) gone(operation *located, now map[string]*located) {
	for _, shape := range slices.Sorted(maps.Keys(now)) {
		other := now[shape]
		if c.known[shape] || other.OperationID != operation.OperationID {
			continue
		}
		c.known[shape] = true
		c.addf(true, "%s has moved to %s: callers of the old address get 404 or 405", operation.key, other.key)
		c.operation(operation, other)
		return
	}
	c.addf(true, "%s (%s) is gone: unless it is only hidden, callers get 404 or 405", operation.key, operation.OperationID)
}
