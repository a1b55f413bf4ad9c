package ingress

import (
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/busline/busline/portal/internal/outside"
)

// forwarding is what services learn about the origin of a request. The ingress itself writes the X-Forwarded headers
// that carry it, and keeps only those of trusted proxies.
type forwarding struct {
	client string // addresses, that of the client first: "203.0.113.7, 10.0.0.2"
	host   string // as the client called it: "api.example.com"
	proto  string // "https"
	prefix string // of the path under which the ingress is mounted: "/bus", or ""

	trusted bool // the peer is a trusted proxy

	public string // the path that stands for the root of the service, of WithPath: "/shop"
	paths  string // all public paths, as JSON
}

// forwarding determines the origin of a request.
func (c *config) forwarding(r *http.Request) forwarding {
	peer := peerAddress(r)
	from := forwarding{host: r.Host, proto: "http", prefix: mountPrefix(r)}
	if peer.IsValid() {
		from.client = peer.String()
	}
	if r.TLS != nil {
		from.proto = "https"
	}
	if from.trusted = c.trusts(peer); from.trusted {
		from.applyTrusted(r.Header)
	}
	return from
}

// applyTrusted adopts the X-Forwarded headers of a trusted proxy, where they are valid.
func (f *forwarding) applyTrusted(said http.Header) {
	if client := strings.Join(said.Values("X-Forwarded-For"), ", "); client != "" {
		f.client = client + ", " + f.client
	}
	if host := said.Get("X-Forwarded-Host"); isAuthority(host) {
		f.host = host
	}
	if proto := said.Get("X-Forwarded-Proto"); proto == "http" || proto == "https" {
		f.proto = proto
	}
	if prefix, err := url.ParseRequestURI(said.Get("X-Forwarded-Prefix")); err == nil && prefix.Host == "" {
		f.prefix = cleanPrefix(outside.SentPath(prefix)) + f.prefix
	}
}

// through notes the public path through which a service is called, and for the portal's document all of them.
func (f *forwarding) through(public *outside.PublicPath, to *url.URL, all *publicPaths) {
	switch {
	case to.Hostname() == outside.HostPortal:
		if to.Path == outside.PathDocument {
			f.paths = all.header
		}
	case public != nil && public.Path == "":
		f.public = public.Name()
	}
}

// writeTo sets the X-Forwarded headers of a request for the bus, replacing those of the client. Other headers of this
// kind are kept only if a trusted proxy has set them.
func (f *forwarding) writeTo(header http.Header) {
	maps.DeleteFunc(header, func(name string, _ []string) bool { return isForwardingHeader(name) && !f.trusted })
	values := [...]string{f.client, f.host, f.proto, f.prefix}
	for i, name := range [...]string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix"} {
		delete(header, name)
		if values[i] != "" {
			header[name] = values[i : i+1 : i+1]
		}
	}
	for i, name := range [...]string{"X-Forwarded-Public-Path", outside.HeaderPublicPaths} {
		delete(header, name)
		if value := [...]string{f.public, f.paths}[i]; value != "" {
			header.Set(name, value)
		}
	}
}

// isForwardingHeader reports whether a header claims to describe the origin of a request. An underscore counts as a
// hyphen, because some servers treat the two alike.
func isForwardingHeader(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	return strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" || name == "X-Real-Ip"
}

// trusts reports whether an address is that of a trusted proxy.
func (c *config) trusts(peer netip.Addr) bool {
	for _, network := range c.trusted {
		if network.Contains(peer) {
			return true
		}
	}
	return false
}

// peerAddress returns the remote address of the connection, or the zero value if that is not an IP address, as on a
// Unix socket.
func peerAddress(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap().WithZone("")
}

// requestPath returns the path as the client sent it, before an outer handler removed a prefix.
func requestPath(r *http.Request) string {
	if sent, err := url.ParseRequestURI(r.RequestURI); err == nil {
		return outside.SentPath(sent)
	}
	return outside.SentPath(r.URL)
}

// mountPrefix returns the prefix that an outer handler such as http.StripPrefix has removed from the path, or "".
func mountPrefix(r *http.Request) string {
	path := outside.SentPath(r.URL)
	if sent, _, _ := strings.Cut(r.RequestURI, "?"); sent == path {
		return "" // as nearly always
	}
	prefix, stripped := strings.CutSuffix(requestPath(r), path)
	if !stripped {
		return ""
	}
	return cleanPrefix(prefix)
}

// cleanPrefix returns a prefix that is empty, or begins with exactly one slash and ends without one. A browser would
// take what follows two slashes for a host.
func cleanPrefix(prefix string) string {
	if prefix = strings.Trim(prefix, "/"); prefix == "" {
		return ""
	}
	return "/" + prefix
}

// isAuthority reports whether a text is a host with or without a port.
func isAuthority(text string) bool {
	parsed, err := url.Parse("//" + text)
	return err == nil && text != "" && parsed.Host == text && !strings.ContainsAny(text, ", \"<>")
}
