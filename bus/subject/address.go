package subject

import (
	"net/url"
	"strconv"
	"strings"
)

// HostAll is the host that every service answers on, besides its own.
const HostAll = "all"

// Ports by convention.
const (
	PublicPort  = 443 // where an endpoint is served unless an option says otherwise
	EventPort   = 417 // where events are handled; neither the ingress nor a document leads there
	ControlPort = 888 // requests of the framework itself, never from outside
)

// Address is the address of the endpoint that a call is for.
type Address struct {
	Port   int    // 443
	Host   string // "calculator.example" as called; "k3x.calculator.example" addresses the instance k3x
	Method string // "POST"
	Path   string // the escaped path of the URL, without the query: "/files/a%2Fb"; "" is "/"
}

// FromURL returns the address for a call with this method and URL. The URL is http(s)://[instance.]host[:port]/path;
// the default port is 443 for https and 80 for http, and the host is case-insensitive. The query and the fragment are
// ignored. An error is an *Error with status 400.
func FromURL(method string, u *url.URL) (Address, error) {
	if u == nil {
		return Address{}, malformed("URL: missing; write https://host/path")
	}
	if u.Opaque != "" || u.User != nil {
		return Address{}, malformed("URL: contains user information, or no // before the host; write https://host/path")
	}
	host, port, err := splitHost(u)
	if err != nil {
		return Address{}, err
	}
	address := Address{Port: port, Host: host, Method: method, Path: u.EscapedPath()}
	if address.Path == "" {
		address.Path = "/"
	}
	if err := address.check(); err != nil {
		return Address{}, err
	}
	return address, nil
}

// check checks everything except the escapes in the path.
func (a Address) check() error {
	if err := CheckPort(a.Port); err != nil {
		return err
	}
	if err := CheckCalledHost(a.Host); err != nil {
		return err
	}
	if err := CheckMethod(a.Method); err != nil {
		return err
	}
	if a.Path != "" && a.Path[0] != '/' {
		return malformed("path %s: does not begin with a slash", quote(a.Path))
	}
	return nil
}

// splitHost returns the URL's host in lower case, not validated, and its port. It does not use url.URL.Hostname, which
// would accept "[calculator.example]" as a host.
func splitHost(u *url.URL) (host string, port int, err error) {
	switch u.Scheme {
	case "https":
		port = 443
	case "http":
		port = 80
	default:
		return "", 0, malformed("URL scheme %s: neither https nor http; an address is https://<host>/<path>", quote(u.Scheme))
	}
	if strings.HasPrefix(u.Host, "[") && strings.Contains(u.Host, ":") {
		return "", 0, malformed("host %s: an IPv6 address is no host of the bus; write the name under which the service is "+
			"connected", quote(u.Host))
	}
	host, digits, colon := strings.Cut(u.Host, ":")
	if colon && digits == "" && strings.HasPrefix(u.Path, "//") && endsInScheme(host) {
		return "", 0, malformed("URL: has two schemes; a host is written without one, calculator.example, " +
			"and an address with one, https://<host>/<path>")
	}
	if digits != "" {
		if port, err = parsePort(digits); err != nil {
			return "", 0, err
		}
	}
	return LowerHost(host), port, nil
}

// endsInScheme reports whether the last label of a host is a scheme, as in https://https://calculator.example/add, with
// or without an instance ID before it.
func endsInScheme(host string) bool {
	last := LowerHost(host[strings.LastIndexByte(host, '.')+1:])
	return last == "https" || last == "http"
}

// parsePort parses a port as in a URL or a subject: no sign, no leading zero.
func parsePort(digits string) (int, error) {
	if digits != "" && digits[0] != '0' && all(digits, func(c byte) bool { return '0' <= c && c <= '9' }) {
		if port, err := strconv.Atoi(digits); err == nil && CheckPort(port) == nil {
			return port, nil
		}
	}
	return 0, malformed("port %s: not from 1 to %d", quote(digits), maxPort)
}

// LowerHost returns a hostname in lower case. It converts only A-Z: strings.ToLower would turn the Kelvin sign into a
// k, and so make an invalid host valid.
func LowerHost(host string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, host)
}
