package portal

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/busline/busline/bus"
)

// forThisMachine returns a handler that answers only requests for this machine, if that is all that a server is for: it
// listens on a loopback address, and has no base URL elsewhere and no proxy in front. A site can have its own name
// resolve to 127.0.0.1, and is of the same origin for the browser then (DNS rebinding); only the Host header tells.
func forThisMachine(handler http.Handler, listening net.Addr, baseURL string) http.Handler {
	tcp, ok := listening.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() || hasProxies(handler) {
		return handler
	}
	if base, err := url.Parse(baseURL); err != nil || !thisMachine(base) {
		return handler
	}
	refuse := bus.WriteError
	if ingress, ok := handler.(*Ingress); ok {
		refuse = ingress.turnAway
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "" && !thisMachine(&url.URL{Host: r.Host}) { // browsers send one
			refuse(w, r, bus.Errorf(http.StatusMisdirectedRequest,
				"%.80q is not this machine, for which alone the server listens; set BUS_BASE_URL to the address that people use", r.Host))
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// thisMachine says whether a URL has a host that no other site can have: localhost (RFC 6761, 6.3) or an IP address.
func thisMachine(at *url.URL) bool {
	name := strings.TrimSuffix(strings.ToLower(at.Hostname()), ".")
	_, err := netip.ParseAddr(name)
	return err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost")
}

func hasProxies(handler http.Handler) bool {
	ingress, ok := handler.(*Ingress)
	return ok && len(ingress.config.trusted) > 0
}
