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

// Router finds the endpoint that serves an address. The broker only delivers the message to this service: it treats
// overlapping subscriptions as one. The router prefers, from left to right, a literal segment to {name}, and {name} to
// {name+}; then an exact method to any method. It is safe for concurrent use.
type Router struct {
	mu        sync.RWMutex // protects all below
	ports     map[int]*node
	withdrawn map[int]*node // routes without their endpoints
}

// node is the end of a prefix of paths.
type node struct {
	literal map[string]*node // the next segment is literal
	param   *node            // the next segment is {name}
	rest    routes           // the rest is {name+}
	routes  routes           // the path ends here
}

// Found is one route of an endpoint; the zero value is none.
type Found struct {
	Endpoint *Endpoint
	Route    *restmap.Route
}

// IsFound reports whether there is a route.
func (f Found) IsFound() bool { return f.Endpoint != nil }

// routes are the routes with the same pattern, one for each method.
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
func NewRouter() *Router {
	return &Router{ports: make(map[int]*node), withdrawn: make(map[int]*node)}
}

// Add adds all endpoints or none. The error names every pair of endpoints with the same method and pattern.
func (r *Router) Add(endpoints []*Endpoint) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, added := range endpoints {
		for i := range added.Routes {
			route := &added.Routes[i]
			same := routesIn(r.ports, added.Port, route.Pattern)
			if rival := same.of(route.Method); rival.IsFound() {
				errs = append(errs, conflict(added, rival.Endpoint, *route))
				if rival.Endpoint.Name == added.Name {
					break // the other routes conflict as well
				}
				continue
			}
			*same = append(*same, Found{added, route})
		}
	}
	if len(errs) > 0 {
		r.removeLocked(endpoints)
	} else {
		r.returnLocked(endpoints)
	}
	return errors.Join(errs...)
}

// hasParameters reports whether a pattern has parameters.
func hasParameters(pattern restmap.Pattern) bool {
	return slices.ContainsFunc(pattern.Segments(), func(s restmap.Segment) bool { return s.Name != "" })
}

// conflict returns the error for a route of an endpoint that another endpoint serves. It names the path and an example.
func conflict(added, rival *Endpoint, route restmap.Route) error {
	method, path := route.Method, route.Pattern.String()
	if method == anyMethod {
		method = "any method"
	}
	if hasParameters(route.Pattern) {
		path += ", such as " + route.Pattern.Example() + ","
	}
	served := fmt.Sprintf("%s and %s both serve", added.Name, rival.Name)
	if added.Name == rival.Name {
		served = added.Name + " is served by this connection already, as"
	}
	return fmt.Errorf("%s %s %s on port %d: serve it once, or give one of them another path", served, method,
		path, added.Port)
}

// routesIn returns the routes of a pattern, and makes the nodes that lead to them.
func routesIn(ports map[int]*node, port int, pattern restmap.Pattern) *routes {
	at := ports[port]
	if at == nil {
		at = &node{}
		ports[port] = at
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

// Remove removes endpoints.
func (r *Router) Remove(endpoints []*Endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeLocked(endpoints)
}

// removeLocked removes endpoints.
func (r *Router) removeLocked(endpoints []*Endpoint) {
	for _, removed := range endpoints {
		for _, route := range removed.Routes {
			same := routesIn(r.ports, removed.Port, route.Pattern)
			*same = slices.DeleteFunc(*same, func(each Found) bool { return each.Endpoint == removed })
		}
	}
}

// ServedPorts returns the ports with endpoints, sorted, without the port of the framework.
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

// serves reports whether there is a route at this node or below.
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
	if literal := r.ports[address.Port].literalRoutes(address.Path).choose(address.Method); literal.IsFound() {
		return Match{Found: literal}
	}
	var few [8]string // enough for most paths, and stays on the stack
	segments, err := subject.AppendSegments(few[:0], address.Path)
	if err != nil {
		return Match{}
	}
	return r.searchLocked(address, segments)
}

// literalRoutes returns the routes whose pattern is exactly the path, without parameters: they are the most specific
// routes. It returns nil if the path has escapes.
func (n *node) literalRoutes(path string) routes {
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
	return r.ports[address.Port].find(segments, nil, func(found routes) Found {
		return found.choose(address.Method)
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

// find searches depth first, the most specific nodes first, until accept finds a route. values are the parameters so
// far.
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
	served, _ := r.AllMethods(port, path)
	return served
}

// AllMethods returns Methods, and those under which the path was served by endpoints that were withdrawn.
func (r *Router) AllMethods(port int, path string) (served, withdrawn []string) {
	segments, err := subject.Segments(path)
	if err != nil {
		return nil, nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return methodsOf(r.ports[port], segments), methodsOf(r.withdrawn[port], segments)
}

// methodsOf returns the methods of the routes of a path, sorted.
func methodsOf(at *node, segments []string) []string {
	served := make(map[string]bool)
	at.find(segments, nil, func(found routes) Found {
		for _, each := range found {
			served[each.Route.Method] = true
		}
		return Found{} // so that the search continues with less specific routes
	})
	return sortedMethods(served)
}

// sortedMethods returns the methods that are served, sorted, with the methods that stand for others replaced.
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

// Value returns the value of a parameter of the path, "" if there is none of that name.
func (m Match) Value(name string) string {
	index := 0
	for _, segment := range m.Route.Pattern.Segments() {
		if segment.Name == "" {
			continue
		}
		if segment.Name == name {
			return m.values[index]
		}
		index++
	}
	return ""
}

// bypassesClaims reports whether a path leads to a web endpoint only because it is not clean, while the clean path
// leads to an endpoint that requires other claims or callers: /files//private/x, where /files/private/{path+} requires
// claims and /files/{path+} does not. The router does not clean paths, but handlers such as [http.FileServer] do, and
// would serve the same file. A handler may strip any prefix before.
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
		for _, clean := range [][]string{file, append(file, "")} { // the path of a folder ends in a slash
			if to := r.searchLocked(address, clean); to.IsFound() && !found.Endpoint.guardsLike(to.Endpoint) {
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

// OpenMethods returns, by web endpoint, the methods under which the paths of e lead to a web endpoint with a wider
// pattern and other claims or callers.
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
		case to.Endpoint.guardsLike(e):
		case slices.Equal(Tokens(to.Route.Pattern), Tokens(pattern)): // the same path on purpose
		default:
			open[to.Endpoint] = append(open[to.Endpoint], method)
		}
	}
	return open
}

// HasValues reports whether the route has parameters.
func (m Match) HasValues() bool { return len(m.values) > 0 }

// Endpoint is an endpoint. It does not change once it is in a router.
type Endpoint struct {
	Name, Path string
	Port       int
	Routes     []restmap.Route
	Source     string        // host that publishes the event; "" for an endpoint on our own host
	Queue      bool          // one instance of the host handles a request; else all instances do
	OnAll      bool          // served on the host "all", with one subscription for all such endpoints
	Framework  bool          // served for the framework, also while the instance is not ready
	Web        bool          // is an http.Handler
	Streams    bool          // its responses may be streams
	Secured    bool          // requires claims
	Claims     string        // expression that the claims satisfy
	Callers    []string      // hosts that may call; nil for all
	BodyLimit  int           // largest body, in bytes
	TimeBudget time.Duration // longest time of a handler; 0 for no limit but the time budget of the caller
	Group      *Group        // that it is withdrawn with; nil for an endpoint that is never withdrawn
	Value      any           // for the Service; the server does not use it
}

// guardsLike reports whether the endpoint requires what the other one requires.
func (e *Endpoint) guardsLike(other *Endpoint) bool {
	return (!other.Secured || e.Secured && e.Claims == other.Claims) &&
		(len(other.Callers) == 0 || slices.Equal(e.Callers, other.Callers))
}

// queueName returns the Queue of the responses of an endpoint. Without a queue each instance counts as a queue of its
// own.
func (s *Server) queueName(e *Endpoint) string {
	if e.Queue {
		return s.Host
	}
	return s.ownHost
}

// hostOf returns the host of an endpoint.
func (s *Server) hostOf(e *Endpoint) string { return cmp.Or(e.Source, s.Host) }

// Subject returns the subject of a subscription to a route of the endpoint on a host, or on its Source if it has one.
func (e *Endpoint) Subject(plane, host string, route restmap.Route) string {
	return subject.Subscription(plane, strconv.Itoa(e.Port), cmp.Or(e.Source, host), route.Method,
		Tokens(route.Pattern)...)
}

// Tokens returns the segments of a pattern as tokens of a subscription.
func Tokens(pattern restmap.Pattern) []string {
	segments := pattern.Segments()
	tokens := make([]string, len(segments))
	for i, segment := range segments {
		switch {
		case segment.Rest:
			tokens[i] = ">"
		case segment.Name != "":
			tokens[i] = "*"
		default:
			tokens[i] = subject.Escape(segment.Literal)
		}
	}
	return tokens
}
