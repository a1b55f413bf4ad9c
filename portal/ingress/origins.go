package ingress

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/cors"

	"github.com/busline/busline/bus"
)

// anyOrigin stands for every origin.
const anyOrigin = "*"

// guardOrigins lets pages of the listed origins call through the ingress
// (https://fetch.spec.whatwg.org/#http-cors-protocol). A browser's preflight requests never reach a service.
func (c *config) guardOrigins(i *Handler) http.Handler {
	if len(c.origins) == 0 {
		return http.HandlerFunc(i.serveOwnOrigin)
	}
	options := cors.Options{
		AllowedMethods: []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{"*"}, // all, as long as no credentials are allowed; services have some of their own
		MaxAge:         600,           // seconds
	}
	if slices.Contains(c.origins, anyOrigin) {
		options.AllowedOrigins = []string{anyOrigin}
	} else {
		options.AllowOriginFunc = func(origin string) bool { return slices.Contains(c.origins, origin) }
	}
	return cors.New(options).Handler(http.HandlerFunc(i.serve))
}

// serveOwnOrigin serves an ingress that allows no other origin.
func (i *Handler) serveOwnOrigin(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		i.rejectRequest(w, r, bus.Errorf(http.StatusForbidden,
			"pages of other origins may not call; see ingress.WithOrigins"))
		return
	}
	i.serve(w, r)
}

// checkSite refuses requests that a browser sends for a page of another site. A form needs no preflight request, and
// many endpoints take forms. GET and HEAD pass: a link is such a request, too.
func (i *Handler) checkSite(r *http.Request, from *forwarding) error {
	if slices.Contains(i.config.origins, anyOrigin) {
		return nil
	}
	asIfDirect := &http.Request{Method: r.Method, Header: r.Header, Host: from.host}
	if i.config.sites.Check(asIfDirect) == nil {
		return nil
	}
	origin := r.Header.Get("Origin")
	if origin != "" && strings.HasPrefix(i.baseURL(from)+"/", origin+"/") {
		return nil
	}
	return bus.Errorf(http.StatusForbidden,
		"pages of %.80s may not call %.80s; see ingress.WithOrigins, or, if these are the same, ingress.WithTrustedProxies "+
			"and bus.WithBaseURL",
		cmp.Or(origin, "another site"), from.host)
}

// baseURL returns the address under which people reach the ingress: the configured one, else that of the request.
func (i *Handler) baseURL(from *forwarding) string {
	r := &http.Request{Header: make(http.Header)}
	from.writeTo(r.Header)
	return i.conn.BaseURL(r)
}

// guardLoopbackHost returns a handler that answers only requests for this machine, if that is all that a server is for:
// it listens on a loopback address, and has no base URL elsewhere and no proxy in front. A site can have its own name
// resolve to 127.0.0.1, and is of the same origin for the browser then (DNS rebinding); only the Host header differs.
func guardLoopbackHost(handler http.Handler, listening net.Addr, baseURL string) http.Handler {
	tcp, ok := listening.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() || hasProxies(handler) {
		return handler
	}
	if base, err := url.Parse(baseURL); err != nil || !isLoopback(base) {
		return handler
	}
	refuse := bus.WriteError
	if ingress, ok := handler.(*Handler); ok {
		refuse = ingress.rejectRequest
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "" && !isLoopback(&url.URL{Host: r.Host}) { // browsers send one
			refuse(w, r, bus.Errorf(http.StatusMisdirectedRequest,
				"%.80q is not this machine, for which alone the server listens; set BUS_BASE_URL to the address that people use",
				r.Host))
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// isLoopback reports whether a URL has a host that no other site can have: localhost (RFC 6761, 6.3) or an IP address.
func isLoopback(at *url.URL) bool {
	name := strings.TrimSuffix(strings.ToLower(at.Hostname()), ".")
	_, err := netip.ParseAddr(name)
	return err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost")
}

func hasProxies(handler http.Handler) bool {
	ingress, ok := handler.(*Handler)
	return ok && len(ingress.config.trusted) > 0
}
