package ingress

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/internal/outside"
)

// publicPaths are the paths of [WithPath]. They do not change once they are parsed.
type publicPaths struct {
	outside.PublicPaths

	open   []int  // ports
	header string // all of them, for the portal
}

// maxPublicPaths is how large all public paths may be together as JSON, in bytes: they travel in a header.
const maxPublicPaths = 16 << 10

// add adds a path, or returns an error for one that cannot lead to a service.
func (p *publicPaths) add(path, target string) error {
	prefix := strings.TrimSuffix(path, "/")
	at := slices.IndexFunc(p.All, func(other *outside.PublicPath) bool {
		return outside.LowerHostOf(other.Prefix) == outside.LowerHostOf(prefix)
	})
	switch {
	case path != "/" && !isPlainPath(prefix) || path == "":
		return fmt.Errorf("ingress.WithPath: %q is not a path such as /shop or /shop/new: leave out queries, fragments, "+
			"percent signs, semicolons, and segments that are empty or dots", path)
	case outside.HasPort(prefix):
		return fmt.Errorf("ingress.WithPath: %q begins with a host and a port, whose path always leads to that host: "+
			"leave out the colon", path)
	case prefix != "" && p.IsReserved(prefix):
		return fmt.Errorf("ingress.WithPath: the ingress serves %q itself: choose another path", path)
	}
	host, below, err := p.parseTarget(target)
	switch {
	case err != nil:
		return fmt.Errorf("ingress.WithPath: %q leads to %q, which is not the address of a service on an open port, such "+
			"as https://shop.example:%d/api: %w", path, withoutUser(target), append(slices.Clone(p.open), 443)[0], err)
	case at >= 0 && p.All[at].Host == host && p.All[at].Path == below:
		return fmt.Errorf("ingress.WithPath: %q is there twice: name it once", path)
	case at >= 0:
		return fmt.Errorf("ingress.WithPath: %q leads to two services: name it once", path)
	}
	p.All = append(p.All, &outside.PublicPath{Prefix: prefix, Host: host, Path: below})
	return nil
}

// withoutUser returns an address without what may be a password.
func withoutUser(address string) string {
	scheme, rest, _ := strings.Cut(address, "//")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		return scheme + "//…" + rest[at:]
	}
	return address
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
func (p *publicPaths) finish() (err error) {
	p.Sort()
	if len(p.All) == 0 {
		return nil
	}
	if p.header, err = p.Text(); len(p.header) > maxPublicPaths {
		return fmt.Errorf("ingress.WithPath: %d paths take %d bytes, and %d at most: name fewer or shorter ones", len(p.All),
			len(p.header), maxPublicPaths)
	}
	return err
}

// addressOf returns the address on the bus to which a path leads, and the public path that leads there; nil if the path
// names the host itself.
func (p *publicPaths) addressOf(path string) (*url.URL, *outside.PublicPath, error) {
	public := p.Of(path)
	if public == nil {
		to, err := outside.AddressOf(path, p.open)
		return to, nil, err
	}
	to, err := outside.AddressOf("/"+public.Host+public.Path+path[len(public.Prefix):], p.open)
	if err != nil {
		return nil, nil, err
	}
	if hasDots(to.Path) {
		return nil, nil, bus.Errorf(http.StatusBadRequest,
			"the path has a segment of dots, which may lead out of %s; send the path that is meant", public.Name())
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
// else below another one. ok is false if no public path leads there, or if browsers might read the result as another
// address.
func (p *publicPaths) seen(through *outside.PublicPath, host, path string) (seen string, ok bool) {
	if strings.ContainsFunc(path, func(c rune) bool { return c == '\\' || unicode.IsControl(c) }) {
		return "", false
	}
	path = outside.EncodeStray(path)
	for _, each := range append([]*outside.PublicPath{through}, p.All...) {
		below, within := outside.CutPath(path, each.Path)
		if !within || each.Host != host {
			continue
		}
		seen = each.Prefix + below
		if strings.HasPrefix(seen, "/") && !strings.HasPrefix(seen, "//") && p.Of(seen) == each {
			return seen, true
		}
	}
	return "", false
}

// checkWorker refuses the script of a service worker, at the path of a service with this host and port, in a folder
// with pages of other services: it would control all pages in the folder of the script. So it has to have a path below
// /<host>/, or below a public path. A browser says for what it wants the script
// (https://w3c.github.io/ServiceWorker/#service-worker-script-request).
func (p *publicPaths) checkWorker(r *http.Request, path, host string, public *outside.PublicPath) error {
	if r.Header.Get("Service-Worker") == "" {
		return nil
	}
	folder, remedy := path[:strings.LastIndexByte(path, '/')+1], fmt.Sprintf("below %.80s/", path)
	if public != nil && public.Prefix == "" {
		remedy = "in any folder below /"
	}
	switch {
	case folder == "/", public != nil && !public.Holds(strings.TrimSuffix(folder, "/")):
		return bus.Errorf(http.StatusForbidden,
			"a service worker at %.80s would control the pages of all services; give it a path %s", path, remedy)
	case slices.ContainsFunc(p.All, func(each *outside.PublicPath) bool {
		return each.Host != host && strings.HasPrefix(outside.LowerHostOf(each.Prefix+"/"), outside.LowerHostOf(folder))
	}):
		return bus.Errorf(http.StatusForbidden,
			"a service worker at %.80s would control pages of other services; put it into a folder that has none", path)
	default:
		return nil
	}
}
