package portal

import (
	"io"
	"net/http"
	"strings"

	"github.com/busline/busline/bus"
)

// The paths that the ingress answers itself. They hide no service, because a hyphen is not a valid hostname.
const (
	operatorPrefix = "/-/"
	healthyPath    = "/-/healthy"
	readyPath      = "/-/ready"
	metricsPath    = "/-/metrics"
	allMetricsPath = "/-/metrics/all"
	portalPath     = "/" + hostPortal + "/"
)

// iconPath is what browsers request for any page that names no icon of its own. It could be a host, but is not meant as
// one: each request would be a call to a host that nobody serves, and would cause a warning for operators. A host of
// that name can be reached at /favicon.ico/.
const iconPath = "/favicon.ico"

// leadsToPortal says whether a path stands for the portal's page. The page itself is served only at portalPath, with
// the trailing slash that its relative links need.
func leadsToPortal(path string) bool {
	name := strings.ToLower(strings.TrimPrefix(path, "/"))
	return name == "" || name == hostPortal || name == hostPortal+":443"
}

// redirectToPortal redirects a browser to the page, under the prefix at which the ingress is mounted.
func (i *Ingress) redirectToPortal(w http.ResponseWriter, r *http.Request) {
	if !i.allowRead(w, r) {
		return
	}
	to := i.config.forwarding(r).prefix + portalPath
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
}

func forOperators(path string) bool { return strings.HasPrefix(path, operatorPrefix) }

// tellOperator answers load balancers, schedulers and Prometheus.
func (i *Ingress) tellOperator(w http.ResponseWriter, r *http.Request, path string) {
	if !i.allowRead(w, r) {
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case path == healthyPath:
		tell(w, "healthy\n")
	case path == readyPath && i.conn.Healthy():
		tell(w, "ready\n")
	case path == readyPath && i.conn.Connected():
		i.refuse(w, r, bus.Errorf(http.StatusServiceUnavailable, "messages were lost, or subscriptions were denied; see the log"))
	case path == readyPath:
		i.refuse(w, r, bus.Errorf(http.StatusServiceUnavailable, "the broker is out of reach"))
	case path == metricsPath:
		compressed(http.HandlerFunc(i.tellMetrics))(w, r)
	case path == allMetricsPath:
		compressed(http.HandlerFunc(i.tellAllMetrics))(w, r)
	default:
		i.turnAway(w, r, bus.Errorf(http.StatusNotFound, "no such page; the ingress itself serves %s, %s, %s and %s", healthyPath, readyPath, metricsPath, allMetricsPath))
	}
}

func tell(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // fails only if the client has gone
}

// allowRead refuses every method but GET and HEAD.
func (i *Ingress) allowRead(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	i.turnAway(w, r, bus.Errorf(http.StatusMethodNotAllowed, "only GET and HEAD are served here, not %s", r.Method))
	return false
}
