package portal

import (
	"iter"
	"net/http"
	"net/textproto"
	"strings"
)

// inward returns the headers of a client's request that are passed on to the bus. Hop-by-hop headers (RFC 9110, 7.6.1)
// are dropped, and so is every name reserved for the bus, so that no client can speak for a service.
func inward(from http.Header) http.Header {
	to := make(http.Header, len(from))
	named := namedInConnection(from)
	for name, values := range from {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if !named[canonical] && !connectionOnly(canonical) && !ofTheBus(name) && canonical != "Expect" {
			to[canonical] = append(to[canonical], values...)
		}
	}
	return to
}

// outward adds the headers of a service's response that are passed on to the client. The ingress itself decides on
// cross-origin access and what holds for its whole origin, and the length is set when the body is written. Nobody guesses
// the media type, neither browsers nor net/http.
func outward(to, from http.Header) {
	for name, values := range from {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case connectionOnly(canonical), ofTheBus(name), ofTheOrigin(canonical), ofTheProxy(name), canonical == "Content-Length":
		case strings.HasPrefix(canonical, "Access-Control-"), strings.HasPrefix(name, http.TrailerPrefix):
		default:
			to[canonical] = append(to[canonical], values...)
		}
	}
	to.Set("X-Content-Type-Options", "nosniff")
	if _, typed := to["Content-Type"]; !typed {
		to["Content-Type"] = nil
	}
}

// ofTheOrigin says whether browsers apply a header to everything on the origin of a response, not only to the response:
// one service would decide for all others. The name is canonical.
func ofTheOrigin(name string) bool {
	switch name {
	case "Alt-Svc", "Clear-Site-Data", "Nel", "Report-To", "Service-Worker-Allowed", "Strict-Transport-Security":
		return true
	default:
		return false
	}
}

// ofTheProxy reports whether a proxy in front of the ingress may obey a header of a response, such as nginx does: it could
// serve a file of its own, or what is at another address, and change its limits. An underscore counts as a hyphen, because
// some servers treat the two alike.
func ofTheProxy(name string) bool {
	switch name = textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-")); name {
	case "X-Sendfile", "X-Sendfile2", "X-Lighttpd-Send-File", "X-Lighttpd-Sendfile", "X-Litespeed-Location", "X-Reproxy-File", "X-Reproxy-Url":
		return true
	default:
		return strings.HasPrefix(name, "X-Accel-")
	}
}

// namedInConnection returns the headers that the Connection header lists as hop-by-hop.
func namedInConnection(header http.Header) map[string]bool {
	named := make(map[string]bool)
	for name := range listed(header, "Connection") {
		named[textproto.CanonicalMIMEHeaderKey(name)] = true
	}
	return named
}

// listed yields the members of a field that is a list, which may be in several lines (RFC 9110, 5.6.1).
func listed(header http.Header, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range header.Values(name) {
			for member := range strings.SplitSeq(line, ",") {
				if !yield(textproto.TrimString(member)) {
					return
				}
			}
		}
	}
}

// connectionOnly says whether a header is hop-by-hop by definition. The name is canonical.
func connectionOnly(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return true
	default:
		return false
	}
}

// ofTheBus says whether a header is reserved for the bus, or could be mistaken for such a header by a lenient parser.
func ofTheBus(name string) bool {
	const prefix = "bus-"
	return len(name) >= len(prefix) && strings.EqualFold(strings.ReplaceAll(name[:len(prefix)], "_", "-"), prefix)
}
