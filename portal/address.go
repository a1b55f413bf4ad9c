package portal

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

const (
	hostAll    = subject.HostAll
	hostPortal = "portal" // serves the page
)

// addressOf turns the path /calculator.example:443/add into the address https://calculator.example:443/add, if the port
// is public. The path is taken literally: nothing is decoded, cleaned or redirected, so that the path checked here is
// the path that is called.
func addressOf(path string, open []int) (*url.URL, error) {
	service, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	host, digits, hasPort := strings.Cut(service, ":")
	host = subject.LowerHost(host)
	if subject.CheckCalledHost(host) != nil {
		return nil, bus.Errorf(http.StatusNotFound, "%.80q is not a hostname; a path is /<host>[:<port>]/<path>", service)
	}
	if host == hostAll {
		return nil, bus.Errorf(http.StatusNotFound, "the host %s is not open to the outside", hostAll)
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
	return &url.URL{Scheme: "https", Host: host + ":" + digits, Path: "/" + decoded, RawPath: "/" + encodeStray(rest)}, nil
}
