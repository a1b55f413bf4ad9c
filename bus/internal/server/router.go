package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap"
)

// Router finds the endpoint that serves an address. The broker only decides that this service gets a message: it treats subscriptions
// that overlap as one. Which endpoint handles it is decided here, always the same way: from left to right, a literal segment over {name},
// {name} over {name+}; then an exact method over any. It is safe for concurrent use.
type Router struct {
	mu    sync.RWMutex // protects ports
	ports map[int]*node
}

// node is one segment further down the path.
type node struct {
	literal map[string]*node
	param   *node  // {name}
	rest    routes // {name+}
	routes  routes // paths that end here
}

// Found is one route of an endpoint; the zero value is none.
type Found struct {
	Endpoint *Endpoint
	Route    *restmap.Route
}

// IsFound reports whether there is one.
func (f Found) IsFound() bool { return f.Endpoint != nil }

// routes are the routes that end at one place, one for each method.
type routes []Found

// of returns the route of a method, the zero value for none.
func (s routes) of(method string) Found {
	for _, each := range s {
		if each.Route.Method == method {
			return each
		}
	}
	return Found{}
}

// Match is a route that was found, with the values of its parameters; the zero value is none.
type Match struct {
	Found
	values []string // in the order of the parameters
}

const anyMethod = "*"

// NewRouter returns an empty router.
func NewRouter() *Router { return &Router{ports: make(map[int]*node)} }

// Add adds all endpoints or none. It reports every pair that no path can tell apart.
func (r *Router) Add(endpoints []*Endpoint) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, added := range endpoints {
		for i := range added.Routes {
			route := &added.Routes[i]
			leaf := r.leaf(added.Port, route.Pattern)
			if taken := leaf.of(route.Method); taken.IsFound() {
				errs = append(errs, conflict(added, taken.Endpoint, *route))
				if taken.Endpoint.Name == added.Name {
					break // its other routes are taken, too
				}
				continue
			}
			*leaf = append(*leaf, Found{added, route})
		}
	}
	if len(errs) > 0 {
		r.removeAll(endpoints)
	}
	return errors.Join(errs...)
}

func hasParameters(pattern restmap.Pattern) bool {
	return slices.ContainsFunc(pattern.Segments(), func(s restmap.Segment) bool { return s.Name != "" })
}

// conflict returns the error for a route that is taken, with the path as it was written and an example of it.
func conflict(added, taken *Endpoint, route restmap.Route) error {
	method, path := route.Method, route.Pattern.String()
	if method == anyMethod {
		method = "any method"
	}
	if hasParameters(route.Pattern) {
		path += ", such as " + route.Pattern.Example() + ","
	}
	who := fmt.Sprintf("%s and %s both serve", added.Name, taken.Name)
	if added.Name == taken.Name {
		who = added.Name + " is served by this connection already, as"
	}
	return fmt.Errorf("%s %s %s on port %d: serve it once, or give one of them another path", who, method, path, added.Port)
}

// leaf returns the routes at the end of a pattern, and makes the way there.
func (r *Router) leaf(port int, pattern restmap.Pattern) *routes {
	at := r.ports[port]
	if at == nil {
		at = &node{}
		r.ports[port] = at
	}
	for _, segment := range pattern.Segments() {
		switch {
		case segment.Rest:
			return &at.rest
		case segment.Name != "":
			if at.param == nil {
				at.param = &node{}
			}
			at = at.param
		default:
			if at.literal == nil {
				at.literal = make(map[string]*node)
			}
			if at.literal[segment.Literal] == nil {
				at.literal[segment.Literal] = &node{}
			}
			at = at.literal[segment.Literal]
		}
	}
	return &at.routes
}

// Remove takes endpoints out again.
func (r *Router) Remove(endpoints []*Endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeAll(endpoints)
}

func (r *Router) removeAll(endpoints []*Endpoint) {
	for _, removed := range endpoints {
		for _, route := range removed.Routes {
			leaf := r.leaf(removed.Port, route.Pattern)
			*leaf = slices.DeleteFunc(*leaf, func(each Found) bool { return each.Endpoint == removed })
		}
	}
}

// ServedPorts returns the ports that something is served on, sorted, without the framework's own.
func (r *Router) ServedPorts() []int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	ports := make([]int, 0, len(r.ports))
	for port, root := range r.ports {
		if port != subject.ControlPort && root.serves() {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	return ports
}

// serves reports whether a route ends here or further down.
func (n *node) serves() bool {
	if n == nil {
		return false
	}
	if len(n.routes)+len(n.rest) > 0 || n.param.serves() {
		return true
	}
	for _, next := range n.literal {
		if next.serves() {
			return true
		}
	}
	return false
}

// Find returns the most specific route for an address. HEAD is served where GET is.
func (r *Router) Find(address subject.Address) Match {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if straight := r.ports[address.Port].at(address.Path).choose(address.Method); straight.IsFound() {
		return Match{Found: straight}
	}
	var few [8]string // enough for most paths, and stays on the stack
	segments, err := subject.AppendSegments(few[:0], address.Path)
	if err != nil {
		return Match{}
	}
	return r.searchLocked(address, segments)
}

// at returns the routes of a path that has nothing escaped, and no parameter in its pattern: the most specific there are.
func (n *node) at(path string) routes {
	rest, more := strings.CutPrefix(path, "/")
	if strings.IndexByte(path, '%') >= 0 {
		return nil
	}
	for more && n != nil {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		n = n.literal[segment]
	}
	if n == nil {
		return nil
	}
	return n.routes
}

// searchLocked finds the route for the port and the method of an address, and for the segments of a path.
func (r *Router) searchLocked(address subject.Address, segments []string) Match {
	return r.ports[address.Port].find(segments, nil, func(at routes) Found {
		return at.choose(address.Method)
	})
}

// choose returns the route that serves a method, the zero value for none.
func (s routes) choose(method string) Found {
	if exact := s.of(method); exact.IsFound() {
		return exact
	}
	if get := s.of(http.MethodGet); get.IsFound() && method == http.MethodHead {
		return get
	}
	return s.of(anyMethod)
}

// find walks down the segments, most specific first, and back up if accept finds nothing.
func (n *node) find(segments, values []string, accept func(routes) Found) Match {
	if n == nil {
		return Match{}
	}
	if len(segments) == 0 {
		return Match{accept(n.routes), values}
	}
	first, others := segments[0], segments[1:]
	if m := n.literal[first].find(others, values, accept); m.IsFound() {
		return m
	}
	if first != "" { // {name} matches no empty segment
		if m := n.param.find(others, append(values, first), accept); m.IsFound() {
			return m
		}
	}
	// the value of {name+} is the decoded segments with slashes between
	return Match{accept(n.rest), append(values, strings.Join(segments, "/"))}
}

// Methods returns the methods under which a path is served, sorted; GET implies HEAD.
func (r *Router) Methods(port int, path string) []string {
	segments, err := subject.Segments(path)
	if err != nil {
		return nil
	}
	served := make(map[string]bool)
	r.mu.RLock()
	defer r.mu.RUnlock()
	r.ports[port].find(segments, nil, func(at routes) Found {
		for _, each := range at {
			served[each.Route.Method] = true
		}
		return Found{} // so that less specific routes are looked at too
	})
	return sortedMethods(served)
}

func sortedMethods(served map[string]bool) []string {
	methods := make([]string, 0, len(served)+1)
	if served[anyMethod] {
		for _, method := range []string{
			http.MethodDelete, http.MethodGet, http.MethodOptions, http.MethodPatch, http.MethodPost, http.MethodPut,
		} {
			served[method] = true
		}
		delete(served, anyMethod)
	}
	if served[http.MethodGet] {
		served[http.MethodHead] = true
	}
	for method := range served {
		methods = append(methods, method)
	}
	slices.Sort(methods)
	return methods
}

// Value returns a parameter of the path, "" when there is none of that name.
func (m Match) Value(name string) string {
	at := 0
	for _, segment := range m.Route.Pattern.Segments() {
		if segment.Name == "" {
			continue
		}
		if segment.Name == name {
			return m.values[at]
		}
		at++
	}
	return ""
}

// bypassesClaims reports whether a path leads to a web endpoint only because it is not clean, and would, if it were, lead to one that
// asks for other claims: /files//private/x, where /files/private/{path+} asks for some and /files/{path+} for none. No path is
// cleaned here, but many a handler cleans what it gets, as [http.FileServer] does, and would find the same thing. It may have
// stripped any prefix before.
func (r *Router) bypassesClaims(address subject.Address, found Match) bool {
	if !found.Endpoint.Web || len(found.values) == 0 {
		return false
	}
	segments, err := subject.Segments(address.Path)
	if err != nil || !slices.ContainsFunc(segments, isUnclean) {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for stripped := range found.Route.Pattern.Segments() {
		cleaned := strings.Split(path.Clean("/" + strings.Join(segments[stripped:], "/"))[1:], "/")
		file := slices.Concat(segments[:stripped], cleaned)
		for _, straight := range [][]string{file, append(file, "")} { // a folder ends in a slash
			if to := r.searchLocked(address, straight); to.IsFound() && to.Endpoint.Secured && to.Endpoint.Claims != found.Endpoint.Claims {
				return true
			}
		}
	}
	return false
}

// isUnclean reports whether a decoded segment is one that [path.Clean] removes or splits.
func isUnclean(segment string) bool {
	return segment == "" || segment == "." || segment == ".." || strings.Contains(segment, "/")
}

// OpenMethods returns the methods under which the paths of an endpoint lead to web endpoints with a wider pattern and other
// claims.
func (r *Router) OpenMethods(e *Endpoint) map[*Endpoint][]string {
	pattern := e.Routes[0].Pattern
	segments := pattern.Segments()
	path := make([]string, len(segments))
	for i, segment := range segments {
		if path[i] = segment.Literal; segment.Name != "" {
			path[i] = "{" + segment.Name + "}"
		}
	}
	open := make(map[*Endpoint][]string)
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, method := range sortedMethods(map[string]bool{anyMethod: true}) {
		to := r.searchLocked(subject.Address{Port: e.Port, Method: method}, path)
		switch {
		case !to.IsFound(), !to.Endpoint.Web, to.Route.Method == http.MethodGet:
		case to.Endpoint.Secured && to.Endpoint.Claims == e.Claims:
		case slices.Equal(Tokens(to.Route.Pattern), Tokens(pattern)): // that is what its path says
		default:
			open[to.Endpoint] = append(open[to.Endpoint], method)
		}
	}
	return open
}

// HasValues reports whether the route has parameters.
func (m Match) HasValues() bool { return len(m.values) > 0 }

// Endpoint is what the server knows of an endpoint. It does not change once it is in a router.
type Endpoint struct {
	Name, Path string
	Port       int
	Routes     []restmap.Route
	Source     string        // the host whose event this is; "" for what is served on our own host
	Queue      bool          // one instance of the host handles a request; else all do
	OnAll      bool          // served on the host "all", by one subscription for all such endpoints
	Web        bool          // an http.Handler
	Secured    bool          // it asks for claims
	Claims     string        // that satisfy this expression
	BodyLimit  int           // bytes
	TimeBudget time.Duration // the longest a handler may take; 0 for no limit but that of the caller
	Value      any           // what the Service keeps behind it
}

// queueName returns the queue that an instance answers under. Without a queue each instance is one of its own.
func (s *Server) queueName(e *Endpoint) string {
	if e.Queue {
		return s.Host
	}
	return s.ownHost
}

// hostOf returns the hostname that the endpoint is served on.
func (s *Server) hostOf(e *Endpoint) string { return cmp.Or(e.Source, s.Host) }

// Subject returns the subject of a subscription to a route of the endpoint, served on a host unless it has a Source.
func (e *Endpoint) Subject(plane, host string, route restmap.Route) string {
	return subject.Subscription(plane, strconv.Itoa(e.Port), cmp.Or(e.Source, host), route.Method, Tokens(route.Pattern)...)
}

// Tokens are the pattern's segments as a subscription has them.
func Tokens(pattern restmap.Pattern) []string {
	segments := pattern.Segments()
	made := make([]string, len(segments))
	for i, segment := range segments {
		switch {
		case segment.Rest:
			made[i] = ">"
		case segment.Name != "":
			made[i] = "*"
		default:
			made[i] = subject.Escape(segment.Literal)
		}
	}
	return made
}
