package bus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/reflectapi/similar"
)

// registry holds what a connection serves, except for the framework itself.
type registry struct {
	registering sync.Mutex // one registration at a time; protects serving
	serving     bool       // something is registered

	mu        sync.Mutex // protects endpoints
	endpoints []*endpoint
}

// add adds the endpoints that Traffic reports.
func (r *registry) add(endpoints []*endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range endpoints {
		if e.served != nil {
			r.endpoints = append(r.endpoints, e)
		}
	}
}

// takes returns the first document whose place a registered endpoint has, as that of the portal does; nil if none.
func (r *registry) takes(documents []*endpoint) *endpoint {
	for _, e := range r.all() {
		for _, document := range documents {
			if e.Port == document.Port && e.Path == document.Path {
				return document
			}
		}
	}
	return nil
}

// servesBelow reports whether an endpoint serves everything below a path.
func (r *registry) servesBelow(port int, path string) bool {
	return slices.ContainsFunc(r.all(), func(e *endpoint) bool {
		above, _, _ := strings.Cut(e.Path, "{")
		return e.Port == port && strings.HasSuffix(e.Path, "+}") && strings.HasPrefix(path, above)
	})
}

// pathLike returns the path that resembles another one, "/products/{id}" for "/product/5"; "" if there is none. It
// considers only what the documents show without a token.
func (r *registry) pathLike(port int, path string) string {
	if len(path) > maxPathCompared {
		return ""
	}
	parts := strings.Split(path, "/")
	shown := make(map[string]string) // by what they look like
	for _, e := range r.all() {
		if e.Port != port || e.hidden || e.secured || e.source != "" {
			continue
		}
		segments := strings.Split(e.Path, "/")
		for i, segment := range segments {
			if strings.HasPrefix(segment, "{") && i < len(parts) {
				segments[i] = parts[i]
			}
		}
		shown[strings.Join(segments, "/")] = e.Path
	}
	return shown[similar.Name(path, slices.Sorted(maps.Keys(shown)))]
}

// maxPathCompared is the length of a path, in bytes, up to which others are compared with it.
const maxPathCompared = 100

// all returns the registered endpoints, sorted.
func (r *registry) all() []*endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(slices.Values(r.endpoints), func(a, b *endpoint) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
}

// routesOf returns where methods of a name are served.
func (r *registry) routesOf(name string) []string {
	routes := []string{}
	for _, e := range r.all() {
		if e.mapped.Method != nil && e.mapped.Method.Name == name && e.source == "" {
			routes = append(routes, fmt.Sprintf("%s on port %d", e.mapped.ClientRoute(), e.Port))
		}
	}
	return routes
}
