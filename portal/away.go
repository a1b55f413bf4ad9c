package portal

import (
	_ "embed" // of away.html
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/busline/busline/bus"
)

// awayPage is what a browser gets instead of the page while the page, which is served on the bus, cannot be reached.
//
//go:embed away.html
var awayPage string

// missesPage says whether a browser has asked for the portal's page and the call failed because nobody serves it.
func missesPage(r *http.Request, to *url.URL, err error) bool {
	status := bus.StatusOf(err)
	return to.Hostname() == hostPortal && to.Path == "/" && r.Method == http.MethodGet &&
		(status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// serveAway writes a page for people, who have no use for a problem in JSON. The page reloads itself after some
// seconds.
func serveAway(w http.ResponseWriter, status int) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, awayPage) // fails only if the client has gone
}
