package ingress

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/busline/busline/portal/internal/outside"
)

// adaptReferences rewrites request headers that name the service by its address on the ingress: the service knows only
// its address on the bus, which is the Host of its requests. So checks of the origin, and the Destination of WebDAV,
// work as they do without an ingress. An Origin does not distinguish services, as all are on the origin of the ingress;
// references to other services and other places stay as they are. It is the reverse of [servicePlace.adaptLocations].
func (i *Handler) adaptReferences(header http.Header, from *forwarding, to *url.URL) {
	for _, name := range [...]string{"Origin", "Referer", "Destination"} {
		values := header[name]
		if len(values) != 1 {
			continue
		}
		if inside, ok := i.inside(values[0], from, to, name == "Origin"); ok {
			header[name] = []string{inside}
		}
	}
}

// inside returns a reference as the service knows it; ok is false if it refers to another place. An origin refers to
// the ingress as a whole.
func (i *Handler) inside(reference string, from *forwarding, to *url.URL, isOrigin bool) (inside string, ok bool) {
	parsed, err := url.Parse(reference)
	if err != nil || parsed.Opaque != "" || !i.isOwnHost(parsed, from) {
		return "", false
	}
	service := ""
	if parsed.Host != "" {
		service = parsed.Scheme + "://" + strings.TrimSuffix(to.Host, ":443")
	}
	if isOrigin {
		return service, service != "" && parsed.EscapedPath() == ""
	}
	below, ok := outside.CutPath(outside.SentPath(parsed), from.prefix)
	if !ok || below == "" {
		return "", false
	}
	called, _, err := i.config.paths.addressOf(below)
	if err != nil || called.Host != to.Host {
		return "", false
	}
	inside = service + called.EscapedPath()
	if parsed.RawQuery != "" {
		inside += "?" + parsed.RawQuery
	}
	return inside, true
}

// isOwnHost reports whether a reference is a path, or a URL of the ingress as the client has called it, or as people
// do.
func (i *Handler) isOwnHost(reference *url.URL, from *forwarding) bool {
	switch {
	case reference.Scheme == "" && reference.Host == "":
		return true
	case reference.Scheme != "http" && reference.Scheme != "https":
		return false
	case strings.EqualFold(reference.Host, from.host):
		return true
	default:
		base, err := url.Parse(i.baseURL(from))
		return err == nil && strings.EqualFold(reference.Host, base.Host)
	}
}
