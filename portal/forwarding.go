package portal

import (
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// forwarding is what services learn of where a request came from. The X-Forwarded headers that tell it are the
// ingress's word, and that of the proxies it trusts.
type forwarding struct {
	client string // addresses, the client's first: "203.0.113.7, 10.0.0.2"
	host   string // as the client called it: "api.example.com"
	proto  string // "https"
	prefix string // of the path under which the ingress is found: "/bus", or ""

	trusted bool // the peer is a trusted proxy
}

// forwarding works out where a request came from.
func (c *ingressConfig) forwarding(r *http.Request) *forwarding {
	peer := peerAddress(r)
	from := &forwarding{host: r.Host, proto: "http", prefix: mountPrefix(r)}
	if peer.IsValid() {
		from.client = peer.String()
	}
	if r.TLS != nil {
		from.proto = "https"
	}
	if from.trusted = c.trusts(peer); from.trusted {
		from.believe(r.Header)
	}
	return from
}

// believe takes over what a trusted proxy says, where it makes sense.
func (f *forwarding) believe(said http.Header) {
	if client := strings.Join(said.Values("X-Forwarded-For"), ", "); client != "" {
		f.client = client + ", " + f.client
	}
	if host := said.Get("X-Forwarded-Host"); validAuthority(host) {
		f.host = host
	}
	if proto := said.Get("X-Forwarded-Proto"); proto == "http" || proto == "https" {
		f.proto = proto
	}
	if prefix, err := url.ParseRequestURI(said.Get("X-Forwarded-Prefix")); err == nil && prefix.Host == "" {
		f.prefix = cleanPrefix(prefix.EscapedPath()) + f.prefix
	}
}

// writeTo puts the X-Forwarded headers into a request for the bus, instead of what a client claims there. Others of
// their kind stay when a trusted proxy set them.
func (f *forwarding) writeTo(header http.Header) {
	maps.DeleteFunc(header, func(name string, _ []string) bool { return tellsOrigin(name) && !f.trusted })
	for name, value := range map[string]string{
		"X-Forwarded-For": f.client, "X-Forwarded-Host": f.host,
		"X-Forwarded-Proto": f.proto, "X-Forwarded-Prefix": f.prefix,
	} {
		header.Del(name)
		if value != "" {
			header.Set(name, value)
		}
	}
}

// tellsOrigin says whether a header claims to know where a request came from.
// An underscore is as good as a hyphen: some servers take the one for the other.
func tellsOrigin(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	return strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" || name == "X-Real-Ip"
}

// trusts says whether an address is that of a trusted proxy.
func (c *ingressConfig) trusts(peer netip.Addr) bool {
	for _, network := range c.trusted {
		if network.Contains(peer) {
			return true
		}
	}
	return false
}

// peerAddress returns the address at the other end of the connection; the zero value when it is none, as on a Unix
// socket.
func peerAddress(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap().WithZone("")
}

// requestPath returns the path as the client sent it, before an outer handler took a prefix off.
func requestPath(r *http.Request) string {
	if sent, err := url.ParseRequestURI(r.RequestURI); err == nil {
		return sent.EscapedPath()
	}
	return r.URL.EscapedPath()
}

// mountPrefix returns what an outer handler, http.StripPrefix say, has taken off the path; "" when nothing.
func mountPrefix(r *http.Request) string {
	prefix, stripped := strings.CutSuffix(requestPath(r), r.URL.EscapedPath())
	if !stripped {
		return ""
	}
	return cleanPrefix(prefix)
}

// cleanPrefix makes a prefix that is either empty or begins with one slash and ends with none. With two, a browser would
// take it for another host.
func cleanPrefix(prefix string) string {
	if prefix = strings.Trim(prefix, "/"); prefix == "" {
		return ""
	}
	return "/" + prefix
}

// validAuthority says whether a text is a host with or without a port.
func validAuthority(text string) bool {
	parsed, err := url.Parse("//" + text)
	return err == nil && text != "" && parsed.Host == text && !strings.ContainsAny(text, ", \"<>")
}
