package portal

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// servicePlace is where a client has found a service. What a service says of its own paths holds on the bus; outside they lie below
// a prefix of which a router knows nothing, nor does net/http, which makes every redirect an absolute path.
type servicePlace struct {
	prefix string // of the ingress: "/bus", or ""
	name   string // of the service, as the client has spelled it: "Library.example:443"
	called string // what that is: "library.example:443"
	from   string // the host that has answered, without the instance that may have been called
	open   []int  // ports
}

// placeOf returns where the path of a request leads to.
func (i *Ingress) placeOf(r *http.Request, path string, to *url.URL, response *http.Response) *servicePlace {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return &servicePlace{i.config.forwarding(r).prefix, name, to.Host, response.Header.Get("Bus-From-Host"), i.config.ports}
}

// adaptLocations has the headers of a response that name a place of the service name it as the client finds it, as a reverse
// proxy does.
func (i *Ingress) adaptLocations(r *http.Request, path string, to *url.URL, response *http.Response) {
	for _, name := range []string{"Location", "Content-Location"} {
		values := response.Header[name]
		for at, value := range values {
			values[at] = i.placeOf(r, path, to, response).outside(value)
		}
	}
}

// outside returns a reference (RFC 9110, 10.2.2) as it holds outside. It changes a path from the root, and a URL of the very
// service; all else leads where it led: what is relative to the path that was asked for, and what is elsewhere.
func (p *servicePlace) outside(reference string) string {
	if strings.HasPrefix(reference, "/") && !strings.HasPrefix(reference, "//") {
		return p.below(p.name, reference)
	}
	name, path, ok := p.ownURL(reference)
	if !ok {
		return reference
	}
	return p.below(name, path)
}

// below returns a path of the service as it is outside, unless it is that already: a service may know its prefix.
func (p *servicePlace) below(name, path string) string {
	if rest, ok := strings.CutPrefix(path, p.prefix+"/"); ok {
		segment, _ := cutReference(rest)
		if to, err := addressOf("/"+segment, p.open); err == nil && p.isOwn(to.Hostname()) {
			return path
		}
	}
	return p.prefix + "/" + name + path
}

// ownURL returns the name and the path of a URL that leads to the service; false for any other.
func (p *servicePlace) ownURL(reference string) (name, path string, ok bool) {
	scheme, rest, ok := strings.Cut(reference, "//")
	if scheme = strings.ToLower(scheme); !ok || scheme != "" && scheme != "https:" && scheme != "http:" {
		return "", "", false
	}
	host, path := cutReference(rest)
	host, port, hasPort := strings.Cut(lowered(host), ":")
	_, calledPort, _ := strings.Cut(p.called, ":")
	switch {
	case hasPort:
	case scheme == "http:": // it hears of no TLS, or of none in front of the ingress, and means no other port
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

// cutReference cuts off what comes before the path, the query and the fragment.
func cutReference(text string) (before, rest string) {
	if at := strings.IndexAny(text, `/?#\`); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}
