package bus

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/reflectapi/similar"
)

// registry holds what a connection serves, except for the framework itself.
type registry struct {
	registering sync.Mutex // one registration at a time; protects serving
	serving     bool       // something is registered

	// of endpoints that were withdrawn, and whose handlers are waited for; nil before the first Withdraw
	leaving atomic.Pointer[server.Router]

	mu        sync.Mutex // protects all below
	endpoints []*endpoint
	counted   map[countedKey]*metrics.Family // of endpoints that were withdrawn: when served again they count on
}

type countedKey struct {
	port       int
	path, name string
}

func (e *endpoint) countedKey() countedKey { return countedKey{e.Port, e.Path, e.Name} }

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

// remove removes endpoints that were withdrawn.
func (r *registry) remove(withdrawn []*endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endpoints = slices.DeleteFunc(r.endpoints, func(e *endpoint) bool { return slices.Contains(withdrawn, e) })
	if r.counted == nil {
		r.counted = make(map[countedKey]*metrics.Family)
	}
	for _, e := range withdrawn {
		r.counted[e.countedKey()] = e.served
	}
}

// countsOf returns the counts of an endpoint: those that it had when it was withdrawn, or new ones.
func (r *registry) countsOf(e *endpoint) *metrics.Family {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.counted[e.countedKey()], new(metrics.Family))
}

// of returns the endpoints that were registered with a comparable value.
func (r *registry) of(impl any) []*endpoint {
	return slices.DeleteFunc(r.all(), func(e *endpoint) bool {
		return e.impl == nil || !reflect.ValueOf(e.impl).Comparable() || e.impl != impl
	})
}

// documentsOf returns the documents that have nothing to describe without some endpoints.
func (r *registry) documentsOf(withdrawn []*endpoint) []*endpoint {
	return slices.DeleteFunc(r.all(), func(document *endpoint) bool {
		return !document.isDocument || slices.ContainsFunc(r.all(), func(e *endpoint) bool {
			return e.sharesPort(document) && !e.hidden && !slices.Contains(withdrawn, e)
		})
	})
}

// areAllServed reports whether some endpoints are all that is served on the own host.
func (r *registry) areAllServed(some []*endpoint) bool {
	return !slices.ContainsFunc(r.all(), func(e *endpoint) bool { return e.source == "" && !slices.Contains(some, e) })
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
