package ingress

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/portal/internal/outside"
)

// publicPath is a path of the ingress that leads to a service, so that clients need not know the service's host.
type publicPath struct {
	prefix string // "/shop"; "" is all that has no other place
	host   string // on the bus: "shop.example:443"
	path   string // below which the service is called: "/api", or ""
}

// target returns the address on the bus to which the path leads.
func (p *publicPath) target() string { return "https://" + p.host + p.path }

// name returns the path as [WithPath] has it.
func (p *publicPath) name() string { return cmp.Or(p.prefix, "/") }

// publicPaths are the paths of [WithPath], longest first. They do not change once they are parsed.
type publicPaths struct {
	all        []*publicPath
	open       []int             // ports
	isReserved func(string) bool // reports whether the ingress serves a path itself, or leaves it to the portal
	header     string            // all of them, as JSON, for the portal
}

// maxPublicPaths is how large all public paths may be together as JSON, in bytes: they travel in a header.
const maxPublicPaths = 16 << 10

// add adds a path, or returns an error for one that cannot lead to a service.
func (p *publicPaths) add(given, target string) error {
	prefix := strings.TrimSuffix(given, "/")
	first, _, _ := strings.Cut(strings.TrimPrefix(prefix, "/"), "/")
	switch {
	case given != "/" && !isPlainPath(prefix) || given == "":
		return fmt.Errorf("ingress.WithPath: %q is not a path such as /shop or /shop/new: leave out queries, fragments, "+
			"percent signs, semicolons, and segments that are empty or dots", given)
	case strings.Contains(first, ":"):
		return fmt.Errorf("ingress.WithPath: %q begins with a host and a port, whose path always leads to that host: "+
			"leave out the colon", given)
	case prefix != "" && p.isReserved(prefix):
		return fmt.Errorf("ingress.WithPath: the ingress serves %q itself: choose another path", given)
	case slices.ContainsFunc(p.all, func(other *publicPath) bool { return other.prefix == prefix }):
		return fmt.Errorf("ingress.WithPath: %q leads to two services: name it once", given)
	}
	host, path, err := p.parseTarget(target)
	if err != nil {
		return fmt.Errorf("ingress.WithPath: %q leads to %q, which is not the address of a service on an open port, such "+
			"as https://shop.example or https://shop.example:80/api: %w", given, target, err)
	}
	p.all = append(p.all, &publicPath{prefix, host, path})
	return nil
}

// parseTarget returns the host with the port, and the path of an address on the bus.
func (p *publicPaths) parseTarget(target string) (host, path string, err error) {
	rest, isHTTPS := strings.CutPrefix(target, "https://")
	if !isHTTPS {
		return "", "", errors.New("addresses on the bus begin with https://")
	}
	to, err := outside.AddressOf("/"+rest, p.open)
	if err != nil {
		return "", "", errors.New(outside.DetailOf(err))
	}
	_, path, _ = strings.Cut(rest, "/")
	path = strings.TrimSuffix("/"+path, "/")
	if path != "" && !isPlainPath(path) {
		return "", "", errors.New(
			"leave out queries, fragments, percent signs, semicolons, and segments that are empty or dots")
	}
	return to.Host, path, nil
}

// isPlainPath reports whether a path has one spelling only, and ends without a slash.
func isPlainPath(path string) bool {
	segments := strings.Split(path, "/")
	return segments[0] == "" && len(segments) > 1 && !strings.ContainsFunc(path, outside.IsStray) &&
		!strings.ContainsAny(path, "%;") &&
		!slices.ContainsFunc(segments[1:], func(s string) bool { return s == "" || s == "." || s == ".." })
}

// finish sorts the paths when all are there.
func (p *publicPaths) finish() error {
	slices.SortFunc(p.all, func(a, b *publicPath) int { return len(b.prefix) - len(a.prefix) })
	if len(p.all) == 0 {
		return nil
	}
	targets := make(map[string]string)
	for _, each := range p.all {
		targets[each.name()] = each.target()
	}
	text, err := json.Marshal(targets)
	if p.header = string(text); len(p.header) > maxPublicPaths {
		return fmt.Errorf("ingress.WithPath: %d paths take %d bytes, and %d at most: name fewer or shorter ones", len(p.all),
			len(p.header), maxPublicPaths)
	}
	return err
}

// of returns the public path to which a path belongs, nil if that is the path of a host, or reserved.
func (p *publicPaths) of(path string) *publicPath {
	if len(p.all) == 0 || p.isReserved(path) {
		return nil
	}
	first, _, isBelow := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if strings.Contains(first, ":") { // with the port, each host can always be reached
		return nil
	}
	for _, each := range p.all {
		switch _, within := cutPath(path, each.prefix); {
		case !within:
		case each.prefix == "" && isBelow && strings.Contains(first, ".") &&
			subject.CheckCalledHost(subject.LowerHost(first)) == nil:
			return nil
		default:
			return each
		}
	}
	return nil
}

// cutPath returns what is below a prefix that ends without a slash: "", or what begins with a slash.
func cutPath(path, prefix string) (rest string, within bool) {
	rest, within = strings.CutPrefix(path, prefix)
	return rest, within && (rest == "" || rest[0] == '/')
}

// addressOf returns the address on the bus to which a path leads, and the public path that leads there; nil if the path
// names the host itself.
func (p *publicPaths) addressOf(path string) (*url.URL, *publicPath, error) {
	public := p.of(path)
	if public == nil {
		to, err := outside.AddressOf(path, p.open)
		return to, nil, err
	}
	to, err := outside.AddressOf("/"+public.host+public.path+path[len(public.prefix):], p.open)
	if err != nil {
		return nil, nil, err
	}
	if hasDots(to.Path) {
		return nil, nil, bus.Errorf(http.StatusBadRequest,
			"the path has a segment of dots, which may lead out of %s; send the path that is meant", public.name())
	}
	return to, public, nil
}

// hasDots reports whether a decoded path has a segment of dots, also for servers that take \ for /, or leave out what
// follows a semicolon.
func hasDots(path string) bool {
	segments := strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' })
	return slices.ContainsFunc(segments, func(segment string) bool {
		name, _, _ := strings.Cut(segment, ";")
		return name == "." || name == ".."
	})
}

// seen returns the path at which clients see a path of a service that was called through a public path: below that,
// else below another one. A query and a fragment stay. ok is false if no public path leads there, or if browsers might
// read the result as another address.
func (p *publicPaths) seen(through *publicPath, host, reference string) (seen string, ok bool) {
	path, behind := cutQuery(reference)
	if strings.ContainsFunc(path, outside.IsStray) {
		return "", false
	}
	for _, each := range append([]*publicPath{through}, p.all...) {
		below, within := cutPath(path, each.path)
		if !within || each.host != host {
			continue
		}
		seen = each.prefix + below
		if strings.HasPrefix(seen, "/") && !strings.HasPrefix(seen, "//") && p.of(seen) == each {
			return seen + behind, true
		}
	}
	return "", false
}

// hides reports whether a public path takes the path of a host.
func (p *publicPaths) hides(reference string) bool {
	path, _ := cutQuery(reference)
	return p.of(path) != nil
}

// cutQuery splits a reference behind its path.
func cutQuery(reference string) (path, behind string) {
	if at := strings.IndexAny(reference, "?#"); at >= 0 {
		return reference[:at], reference[at:]
	}
	return reference, ""
}

// checkWorker refuses the script of a service worker, at the path of a service with this host and port, in a folder
// with pages of other services: it would control all pages in the folder of the script. So it has to have a path below
// /<host>/, or below a public path. A browser says for what it wants the script
// (https://w3c.github.io/ServiceWorker/#service-worker-script-request).
func (p *publicPaths) checkWorker(r *http.Request, path, host string, public *publicPath) error {
	if r.Header.Get("Service-Worker") == "" {
		return nil
	}
	folder := path[:strings.LastIndexByte(path, '/')+1]
	switch {
	case folder == "/", public != nil && !strings.HasPrefix(folder, public.prefix+"/"):
		return bus.Errorf(http.StatusForbidden,
			"a service worker at %.80s would control the pages of all services; give it a path below %.80[1]s/", path)
	case slices.ContainsFunc(p.all, func(each *publicPath) bool {
		return each.host != host && strings.HasPrefix(each.prefix+"/", folder)
	}):
		return bus.Errorf(http.StatusForbidden,
			"a service worker at %.80s would control pages of other services; put it into a folder that has none", path)
	default:
		return nil
	}
}
