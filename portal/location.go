package portal

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/subject"
)

// servicePlace is the place at which a client sees a service. Paths that the service writes are valid on the bus;
// outside they lie below a prefix that neither a router nor net/http, which makes every redirect an absolute path,
// knows.
type servicePlace struct {
	prefix string // of the ingress: "/bus", or ""
	name   string // of the service, as the client has spelled it: "Library.example:443"
	called string // the same in canonical form: "library.example:443"
	from   string // the host that has responded, without the instance that may have been addressed
	open   []int  // ports
	bare   bool   // the path that was called ends with the name: "/library.example"
}

// placeOf returns the place to which the path of a request leads.
func (i *Ingress) placeOf(r *http.Request, path string, to *url.URL, response *http.Response) *servicePlace {
	name, _, slash := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return &servicePlace{i.config.forwarding(r).prefix, name, to.Host, response.Header.Get("Bus-From-Host"), i.config.ports, !slash}
}

// adaptLocations rewrites the headers of a response that refer to a place within the service to what the client can
// use, as a reverse proxy does.
func (i *Ingress) adaptLocations(r *http.Request, path string, to *url.URL, response *http.Response) {
	for _, name := range []string{"Location", "Content-Location"} {
		values := response.Header[name]
		for at, value := range values {
			values[at] = i.placeOf(r, path, to, response).outside(value)
		}
	}
}

// outside rewrites a reference (RFC 9110, 10.2.2) for clients. It changes absolute paths, and URLs of the same service;
// paths relative to the request and references to other places stay as they are. The service was called at its root, "/",
// if the path was bare; a client would leave the service with a relative path.
func (p *servicePlace) outside(reference string) string {
	if strings.HasPrefix(reference, "/") && !strings.HasPrefix(reference, "//") {
		return p.below(p.name, reference)
	}
	name, path, ok := p.ownURL(reference)
	switch {
	case ok:
		return p.below(name, path)
	case p.bare && isRelativePath(reference):
		return p.below(p.name, "/"+reference)
	default:
		return reference
	}
}

func isRelativePath(reference string) bool {
	parsed, err := url.Parse(reference)
	return err == nil && parsed.Scheme == "" && parsed.Host == "" && parsed.Path != ""
}

// below returns a path of the service as clients see it. A path that already has the prefix stays: the service may know
// it.
func (p *servicePlace) below(name, path string) string {
	if rest, ok := strings.CutPrefix(path, p.prefix+"/"); ok {
		segment, _ := cutReference(rest)
		if to, err := addressOf("/"+segment, p.open); err == nil && p.isOwn(to.Hostname()) {
			return path
		}
	}
	return p.prefix + "/" + name + path
}

// ownURL returns the name and the path of a URL that refers to the service itself; ok is false for any other.
func (p *servicePlace) ownURL(reference string) (name, path string, ok bool) {
	scheme, rest, ok := strings.Cut(reference, "//")
	if scheme = strings.ToLower(scheme); !ok || scheme != "" && scheme != "https:" && scheme != "http:" {
		return "", "", false
	}
	host, path := cutReference(rest)
	host, port, hasPort := strings.Cut(subject.LowerHost(host), ":")
	_, calledPort, _ := strings.Cut(p.called, ":")
	switch {
	case hasPort:
	case scheme == "http:": // the service may not know of TLS in front of the ingress; it means the port that was called
		port = calledPort
	default:
		port = "443"
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	switch {
	case !p.isOwn(host), !slices.ContainsFunc(p.open, func(open int) bool { return port == strconv.Itoa(open) }):
		return "", "", false
	case host+":"+port == p.called:
		return p.name, path, true
	default:
		return host + ":" + port, path, true
	}
}

func (p *servicePlace) isOwn(host string) bool {
	return host != "" && (host == p.from || strings.HasPrefix(p.called, host+":"))
}

// cutReference splits a reference before the path, the query and the fragment.
func cutReference(text string) (before, rest string) {
	if at := strings.IndexAny(text, `/?#\`); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}
