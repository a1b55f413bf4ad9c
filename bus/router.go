package bus

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap"
)

// router finds the endpoint that serves an address. The broker only decides that this service gets a message:
// it treats subscriptions that overlap as one, so that which endpoint handles it is decided here, always the
// same way: from left to right, a literal segment over {name}, {name} over {name+}; then an exact method over
// any.
type router struct {
	mu    sync.RWMutex // protects ports
	ports map[int]*node
}

// node is one segment further down the path.
type node struct {
	literal map[string]*node
	param   *node // {name}
	rest    spots // {name+}
	spots   spots // paths that end here
}

// spot is one route of an endpoint.
type spot struct {
	endpoint *endpoint
	route    *restmap.Route
}

func (s spot) found() bool { return s.endpoint != nil }

// spots are the routes that end at one place, one for each method.
type spots []spot

// of returns the route of a method, the zero value for none.
func (s spots) of(method string) spot {
	for _, each := range s {
		if each.route.Method == method {
			return each
		}
	}
	return spot{}
}

// match is a route that was found, with the values of its parameters in their order; the zero value is none.
type match struct {
	spot
	values []string
}

const anyMethod = "*"

func newRouter() *router { return &router{ports: make(map[int]*node)} }

// add adds all endpoints or none. It reports every pair that no path can tell apart.
func (r *router) add(endpoints []*endpoint) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, added := range endpoints {
		for i := range added.mapped.Routes {
			route := &added.mapped.Routes[i]
			leaf := r.leaf(added.Port, route.Pattern)
			if taken := leaf.of(route.Method); taken.found() {
				errs = append(errs, conflict(added, taken.endpoint, *route))
				if taken.endpoint.Name == added.Name {
					break // its other routes are taken, too
				}
				continue
			}
			*leaf = append(*leaf, spot{added, route})
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
func conflict(added, taken *endpoint, route restmap.Route) error {
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
func (r *router) leaf(port int, pattern restmap.Pattern) *spots {
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
	return &at.spots
}

// remove takes endpoints out again.
func (r *router) remove(endpoints []*endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeAll(endpoints)
}

func (r *router) removeAll(endpoints []*endpoint) {
	for _, removed := range endpoints {
		for _, route := range removed.mapped.Routes {
			leaf := r.leaf(removed.Port, route.Pattern)
			*leaf = slices.DeleteFunc(*leaf, func(each spot) bool { return each.endpoint == removed })
		}
	}
}

// servedPorts returns the ports that something is served on, sorted, without the framework's own.
func (r *router) servedPorts() []int {
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
	if len(n.spots)+len(n.rest) > 0 || n.param.serves() {
		return true
	}
	for _, next := range n.literal {
		if next.serves() {
			return true
		}
	}
	return false
}

// find returns the most specific route for an address. HEAD is served where GET is.
func (r *router) find(address subject.Address) match {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if straight := r.ports[address.Port].at(address.Path).choose(address.Method); straight.found() {
		return match{spot: straight}
	}
	var few [8]string // enough for most paths, and stays on the stack
	segments, err := subject.AppendSegments(few[:0], address.Path)
	if err != nil {
		return match{}
	}
	return r.searchLocked(address, segments)
}

// at returns the routes of a path that has nothing escaped, and no parameter in its pattern: the most specific there are.
func (n *node) at(path string) spots {
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
	return n.spots
}

// searchLocked finds the route for the port and the method of an address, and for the segments of a path.
func (r *router) searchLocked(address subject.Address, segments []string) match {
	return r.ports[address.Port].find(segments, nil, func(at spots) spot {
		return at.choose(address.Method)
	})
}

// choose returns the route that serves a method, the zero value for none.
func (s spots) choose(method string) spot {
	if exact := s.of(method); exact.found() {
		return exact
	}
	if get := s.of(http.MethodGet); get.found() && method == http.MethodHead {
		return get
	}
	return s.of(anyMethod)
}

// find walks down the segments, most specific first, and back up if accept finds nothing.
func (n *node) find(segments, values []string, accept func(spots) spot) match {
	if n == nil {
		return match{}
	}
	if len(segments) == 0 {
		return match{accept(n.spots), values}
	}
	first, others := segments[0], segments[1:]
	if m := n.literal[first].find(others, values, accept); m.found() {
		return m
	}
	if first != "" { // {name} matches no empty segment
		if m := n.param.find(others, append(values, first), accept); m.found() {
			return m
		}
	}
	// the value of {name+} is the decoded segments with slashes between
	return match{accept(n.rest), append(values, strings.Join(segments, "/"))}
}

// methods returns the methods under which a path is served, sorted; GET implies HEAD.
func (r *router) methods(port int, path string) []string {
	segments, err := subject.Segments(path)
	if err != nil {
		return nil
	}
	served := make(map[string]bool)
	r.mu.RLock()
	defer r.mu.RUnlock()
	r.ports[port].find(segments, nil, func(at spots) spot {
		for _, each := range at {
			served[each.route.Method] = true
		}
		return spot{} // so that less specific routes are looked at too
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

// value returns a parameter of the path, "" when there is none of that name.
func (m match) value(name string) string {
	at := 0
	for _, segment := range m.route.Pattern.Segments() {
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
func (r *router) bypassesClaims(address subject.Address, found match) bool {
	if found.endpoint.mapped.Style != restmap.Web || len(found.values) == 0 {
		return false
	}
	segments, err := subject.Segments(address.Path)
	if err != nil || !slices.ContainsFunc(segments, isUnclean) {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for stripped := range found.route.Pattern.Segments() {
		cleaned := strings.Split(path.Clean("/" + strings.Join(segments[stripped:], "/"))[1:], "/")
		file := slices.Concat(segments[:stripped], cleaned)
		for _, straight := range [][]string{file, append(file, "")} { // a folder ends in a slash
			if to := r.searchLocked(address, straight); to.found() && to.endpoint.secured && to.endpoint.claims != found.endpoint.claims {
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

// warnOfOpenMethods warns of web endpoints that ask for claims under some methods, while a wider pattern answers the same paths
// without these claims under others. One of the two was added. A wider GET beside claims on writing alone is no reason to warn.
func (c *Conn) warnOfOpenMethods(added []*endpoint) {
	c.mu.Lock()
	all := slices.Clone(c.endpoints) // the added ones are among them
	c.mu.Unlock()
	for _, e := range all {
		if !e.secured || e.mapped.Style != restmap.Web {
			continue
		}
		isNew := slices.Contains(added, e)
		if !isNew && !slices.ContainsFunc(added, func(other *endpoint) bool { return other.mayCover(e) }) {
			continue // searching takes longer, and there may be thousands
		}
		for wider, methods := range c.router.openMethods(e) {
			if isNew || slices.Contains(added, wider) {
				c.warnThatOpen(e, wider, methods)
			}
		}
	}
}

// mayCover reports whether the pattern of a web endpoint has parameters, and begins like that of another.
func (e *endpoint) mayCover(other *endpoint) bool {
	literal, _, parameters := strings.Cut(e.Path, "{")
	return parameters && e.mapped.Style == restmap.Web && e.Port == other.Port && strings.HasPrefix(other.Path, literal)
}

func (c *Conn) warnThatOpen(e, wider *endpoint, methods []string) {
	c.logger.Warn().Str("endpoint", e.Name).Str("path", e.Path).
		Msgf("the claims of %s do not guard its paths under %s, which %s answers without them: ask for the same claims there, or serve %s under the method *",
			e.Name, strings.Join(methods, ", "), wider.Name, e.Path)
}

// openMethods returns the methods under which the paths of an endpoint lead to web endpoints with a wider pattern and other
// claims.
func (r *router) openMethods(e *endpoint) map[*endpoint][]string {
	pattern := e.mapped.Path()
	segments := pattern.Segments()
	path := make([]string, len(segments))
	for i, segment := range segments {
		if path[i] = segment.Literal; segment.Name != "" {
			path[i] = "{" + segment.Name + "}"
		}
	}
	open := make(map[*endpoint][]string)
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, method := range sortedMethods(map[string]bool{anyMethod: true}) {
		to := r.searchLocked(subject.Address{Port: e.Port, Method: method}, path)
		switch {
		case !to.found(), to.endpoint.mapped.Style != restmap.Web, to.route.Method == http.MethodGet:
		case to.endpoint.secured && to.endpoint.claims == e.claims:
		case slices.Equal(tokens(to.route.Pattern), tokens(pattern)): // that is what its path says
		default:
			open[to.endpoint] = append(open[to.endpoint], method)
		}
	}
	return open
}
