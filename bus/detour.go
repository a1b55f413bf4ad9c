package bus

import (
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
