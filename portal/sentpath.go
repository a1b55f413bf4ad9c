package portal

import (
	"fmt"
	"net/url"
	"strings"
)

// sentPath returns the path of a URL as the client sent it, with the bytes encoded that it should have encoded, such as | and é.
// Because of one of these EscapedPath would decode the whole path and encode it anew: a %2F would become a slash, and so another
// path, or another host.
func sentPath(of *url.URL) string {
	sent := &url.URL{Path: of.Path, RawPath: encodeStray(of.RawPath)}
	return sent.EscapedPath()
}

// encodeStray encodes what cannot be in a path (RFC 3986, 3.3). What is encoded already stays.
func encodeStray(path string) string {
	if strings.IndexFunc(path, isStray) < 0 {
		return path
	}
	var encoded strings.Builder
	for i := range len(path) {
		if c := path[i]; isStray(rune(c)) {
			fmt.Fprintf(&encoded, "%%%02X", c)
		} else {
			encoded.WriteByte(c)
		}
	}
	return encoded.String()
}

// isStray is true for all but visible ASCII, and for what is visible and has no place in a path.
func isStray(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"#<>?\\^`{|}", c) }
