package portal

import (
	"net/http"
	"net/textproto"
	"strings"
)

// inward returns the headers of a client's request that go onto the bus. What concerns the connection alone (RFC 9110,
// 7.6.1) stays behind, and so does every name that the bus keeps for itself: nobody outside speaks for a service.
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

// outward adds the headers of a service's response that are for the client. Whether pages of other origins may read it
// is the ingress's decision, and its length is known when it is written.
func outward(to, from http.Header) {
	for name, values := range from {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case connectionOnly(canonical), ofTheBus(name), canonical == "Content-Length":
		case strings.HasPrefix(canonical, "Access-Control-"), strings.HasPrefix(name, http.TrailerPrefix):
		default:
			to[canonical] = append(to[canonical], values...)
		}
	}
}

// namedInConnection returns the headers that the Connection header declares to be about the connection.
func namedInConnection(header http.Header) map[string]bool {
	named := make(map[string]bool)
	for _, list := range header.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			named[textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name))] = true
		}
	}
	return named
}

// connectionOnly says whether a header is about the connection by definition. The name is canonical.
func connectionOnly(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return true
	default:
		return false
	}
}

// ofTheBus says whether a header is, or may be taken by a lenient reader for, one of the bus's own.
func ofTheBus(name string) bool {
	const prefix = "bus-"
	return len(name) >= len(prefix) && strings.EqualFold(strings.ReplaceAll(name[:len(prefix)], "_", "-"), prefix)
}
