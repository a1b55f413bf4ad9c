// Package outside has what the ingress and the page say to clients outside of the bus: addresses and problems.
package outside

import (
	"fmt"
	"iter"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// Hosts that the ingress treats in its own way.
const (
	HostAll    = subject.HostAll
	HostPortal = "portal" // serves the page
)

// MaxURILength bounds the target of a request, in bytes.
const MaxURILength = 8 << 10

// AddressOf turns the path /calculator.example:443/add into the address https://calculator.example:443/add, if the port
// is public. The path is taken literally: nothing is decoded, cleaned or redirected, so that the path checked here is
// the path that is called.
func AddressOf(path string, open []int) (*url.URL, error) {
	service, rest, _ := CutFirst(path)
	host, digits, hasPort := strings.Cut(service, ":")
	host = subject.LowerHost(host)
	if subject.CheckCalledHost(host) != nil {
		return nil, bus.Errorf(http.StatusNotFound, "%.80q is not a hostname; a path is /<host>[:<port>]/<path>", service)
	}
	if host == HostAll {
		return nil, bus.Errorf(http.StatusNotFound, "the host %s is not open to the outside", HostAll)
	}
	if !hasPort {
		digits = "443"
	}
	if !slices.ContainsFunc(open, func(port int) bool { return digits == strconv.Itoa(port) }) {
		return nil, bus.Errorf(http.StatusNotFound, "port %.10q is not open to the outside", digits)
	}
	decoded, err := url.PathUnescape(rest)
	if err != nil {
		return nil, bus.Errorf(http.StatusBadRequest, "the path has a percent sign without two hex digits")
	}
	return &url.URL{Scheme: "https", Host: host + ":" + digits, Path: "/" + decoded, RawPath: "/" + EncodeStray(rest)}, nil
}

// CutFirst splits a path behind its first segment, which may name a host: "a", "b/c" and true for "/a/b/c".
func CutFirst(path string) (first, rest string, isBelow bool) {
	return strings.Cut(strings.TrimPrefix(path, "/"), "/")
}

// SentPath returns the path of a URL as the client sent it, with the bytes encoded that it should have encoded, such as
// | and é. Because of one of these EscapedPath would decode the whole path and encode it again: a %2F would become a
// slash, and so another path, or another host.
func SentPath(of *url.URL) string {
	sent := &url.URL{Path: of.Path, RawPath: EncodeStray(of.RawPath)}
	return sent.EscapedPath()
}

// EncodeStray encodes what cannot be in a path (RFC 3986, 3.3). What is encoded already stays.
func EncodeStray(path string) string {
	if strings.IndexFunc(path, IsStray) < 0 {
		return path
	}
	var encoded strings.Builder
	for i := range len(path) {
		if c := path[i]; IsStray(rune(c)) {
			fmt.Fprintf(&encoded, "%%%02X", c)
		} else {
			encoded.WriteByte(c)
		}
	}
	return encoded.String()
}

// IsStray is true for all but visible ASCII, and for what is visible and has no place in a path.
func IsStray(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"#<>?\\^`{|}", c) }

// Listed yields the members of a field that is a list, which may be in several lines (RFC 9110, 5.6.1).
func Listed(header http.Header, name string) iter.Seq[string] {
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

// Carried reports whether the bus carries a method. CONNECT and TRACE concern the connection to a server, not what it
// serves (RFC 9110, 9.3.6 and 9.3.8), and PRI begins an HTTP/2 connection, which is not supported here.
func Carried(method string) bool {
	for i := range len(method) {
		if method[i] < 'A' || 'Z' < method[i] {
			return false
		}
	}
	return method != "" && method != http.MethodConnect && method != http.MethodTrace && method != "PRI"
}

// MediaType returns the media type of a body without parameters, such as "text/html"; "" if there is none or it is
// malformed.
func MediaType(header http.Header) string {
	kind := header.Get("Content-Type")
	if kind == "application/json" {
		return kind // as most are
	}
	kind, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return ""
	}
	return kind
}

// CheckPorts returns an error for ports that must not be public.
func CheckPorts(option string, ports []int) error {
	const events, control, last = 417, 888, 65535
	reserved := map[int]string{
		control: "for requests of the framework itself; it is never open to the outside",
		events:  "for events: offer them with ingress.WithEvents",
	}
	if len(ports) == 0 {
		return fmt.Errorf("%s: no port is open; name one such as 443", option)
	}
	for _, port := range ports {
		if port < 1 || port > last {
			return fmt.Errorf("%s: port %d is not from 1 to %d", option, port, last)
		}
		if what := reserved[port]; what != "" {
			return fmt.Errorf("%s: port %d is %s", option, port, what)
		}
	}
	return nil
}

// DefaultPorts returns the ports that are public by convention.
func DefaultPorts() []int { return []int{443, 80} }

// ErrNilOption is the error for an option that is nil: its purpose is unknown.
func ErrNilOption(place int) error { return fmt.Errorf("option %d is nil: leave it out", place+1) }
