package portal

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/rs/cors"

	"github.com/busline/busline/bus"
)

// anyOrigin stands for every origin.
const anyOrigin = "*"

// guardOrigins lets pages of the listed origins call through the ingress
// (https://fetch.spec.whatwg.org/#http-cors-protocol). A browser's preflight requests never reach a service.
func (c *ingressConfig) guardOrigins(i *Ingress) http.Handler {
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
func (i *Ingress) serveOwnOrigin(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		i.turnAway(w, r, bus.Errorf(http.StatusForbidden, "pages of other origins may not call; see portal.WithOrigins"))
		return
	}
	i.serve(w, r)
}

// checkSite refuses requests that a page of another site has a browser send. A form needs no preflight request, and many
// endpoints take forms. GET and HEAD pass: a link is such a request, too.
func (i *Ingress) checkSite(r *http.Request) error {
	if slices.Contains(i.config.origins, anyOrigin) {
		return nil
	}
	from := i.config.forwarding(r)
	asIfDirect := &http.Request{Method: r.Method, Header: r.Header, Host: from.host}
	if i.config.sites.Check(asIfDirect) == nil {
		return nil
	}
	origin := r.Header.Get("Origin")
	if origin != "" && strings.HasPrefix(i.baseURL(from)+"/", origin+"/") {
		return nil
	}
	return bus.Errorf(http.StatusForbidden,
		"pages of %.80s may not call %.80s; see portal.WithOrigins, or, if these are the same, portal.WithTrustedProxies and bus.WithBaseURL",
		cmp.Or(origin, "another site"), from.host)
}

// baseURL returns the address under which people reach the ingress: the configured one, else that of the request.
func (i *Ingress) baseURL(from *forwarding) string {
	r := &http.Request{Header: make(http.Header)}
	from.writeTo(r.Header)
	return i.conn.BaseURL(r)
}
