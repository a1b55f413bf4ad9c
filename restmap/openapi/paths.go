package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/busline/busline/restmap"
)

// paths are the paths of a document under construction. OpenAPI distinguishes paths only by their shape: /a/{x} and
// /a/{y} are the same, and so are /a/{x} and /a/{x+}. Of two operations in the same place the more specific one is
// listed.
type paths struct {
	service Service
	items   map[string]*PathItem
	keys    map[string]string   // by shape
	names   map[string][]string // of the parameters of a key
}

// newPaths lists operations: more specific paths first, those for any method last.
func newPaths(service Service, all []listed) map[string]*PathItem {
	p := &paths{
		service: service,
		items:   make(map[string]*PathItem),
		keys:    make(map[string]string),
		names:   make(map[string][]string),
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b listed) int {
		return cmp.Or(rank(a.method)-rank(b.method), a.endpoint.Path().Compare(b.endpoint.Path()))
	})
	for _, l := range sorted {
		p.list(l)
	}
	return p.items
}

func rank(method string) int {
	if method == restmap.AnyMethod {
		return 1
	}
	return 0
}

// list lists one operation under its path.
func (p *paths) list(l listed) {
	pattern := l.endpoint.Path()
	prefix := fmt.Sprintf("/%s:%d", p.service.Host, cmp.Or(l.endpoint.Port, p.service.Port))
	path := prefix + strings.ReplaceAll(pattern.String(), "+}", "}")
	shape := ShapeOf(path)
	key, known := p.keys[shape]
	if !known {
		key = path
		p.keys[shape], p.names[key], p.items[key] = key, pattern.Names(), new(PathItem)
	}
	markRest(l.operation, pattern)
	rename(l.operation, pattern.Names(), p.names[key])
	method, slot := p.items[key].free(l.method)
	if l.endpoint.Style == restmap.Web {
		l.operation.Summary = method + " " + pattern.String()
	}
	if *slot == nil {
		*slot = l.operation
	}
}

// Displaces says whether one endpoint of a port takes the place of another one in documents: they have one method, and paths
// that OpenAPI does not distinguish, such as /a/{x} and /a/{x+}, of which the first is more specific.
func Displaces(one, other *restmap.Endpoint) bool {
	if !one.Path().SameShape(other.Path()) || one.Path().Compare(other.Path()) >= 0 {
		return false
	}
	method := listedMethod(one)
	return method != restmap.AnyMethod && method == listedMethod(other)
}

// free returns the slot of a method, or for any method the first free one.
func (p *PathItem) free(method string) (string, **Operation) {
	if method != restmap.AnyMethod {
		return method, p.slot(method)
	}
	for _, method := range methods() {
		if slot := p.slot(method); *slot == nil {
			return method, slot
		}
	}
	return "GET", &p.Get
}

// ShapeOf returns a path without the names of its parameters: /a/{} for /a/{x} and for /a/{x+}.
func ShapeOf(path string) string {
	var shape strings.Builder
	for {
		before, behind, found := strings.Cut(path, "{")
		shape.WriteString(before)
		if !found {
			return shape.String()
		}
		shape.WriteString("{}")
		_, path, _ = strings.Cut(behind, "}")
	}
}

// markRest marks the parameter that is {name+} in the pattern and {name} in the path of the document.
func markRest(operation *Operation, pattern restmap.Pattern) {
	for _, parameter := range operation.Parameters {
		whole := restmap.Segment{Name: parameter.Name, Rest: true}
		parameter.Rest = parameter.In == "path" && slices.Contains(pattern.Segments(), whole)
	}
}

// rename gives the parameters of a path the names in its key.
func rename(operation *Operation, from, to []string) {
	for _, parameter := range operation.Parameters {
		if i := slices.Index(from, parameter.Name); parameter.In == "path" && i >= 0 {
			parameter.Name = to[i]
		}
	}
}
