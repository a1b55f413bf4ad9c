package bus

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap"
)

// isDetour says whether a path leads to a web endpoint only because it is not clean, and would, if it were, lead to one that
// asks for other claims: /files//private/x, where /files/private/{path+} asks for some and /files/{path+} for none. No path is
// cleaned here, but many a handler cleans what it gets, as [http.FileServer] does, and would find the same thing. It may have
// stripped any prefix before.
func (r *router) isDetour(address subject.Address, found match) bool {
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
			if to := r.search(address, straight); to.found() && to.endpoint.secured && to.endpoint.claims != found.endpoint.claims {
				return true
			}
		}
	}
	return false
}

// isUnclean says whether a decoded segment is one that [path.Clean] removes or splits.
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
		to := r.search(subject.Address{Port: e.Port, Method: method}, path)
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
