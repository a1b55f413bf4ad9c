package portal

import (
	"net/http"
	"slices"

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
		ExposedHeaders: []string{"Allow", "Location", "Proxy-Status", "Retry-After"},
		MaxAge:         600, // seconds
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
		i.refuse(w, r, bus.Errorf(http.StatusForbidden, "pages of other origins may not call; see portal.WithOrigins"))
		return
	}
	i.serve(w, r)
}
