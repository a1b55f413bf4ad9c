package portal

import (
	_ "embed" // of away.html
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/busline/busline/bus"
)

// awayPage is what a browser is shown in the place of the page while that cannot be had: the page lives on the bus.
//
//go:embed away.html
var awayPage string

// missesPage says whether a call has failed by which a browser asks for the portal's page, because nobody serves that.
func missesPage(r *http.Request, to *url.URL, err error) bool {
	status := bus.StatusOf(err)
	return to.Hostname() == hostPortal && to.Path == "/" && r.Method == http.MethodGet &&
		(status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// serveAway tells a person, who has no use for a problem in JSON, and tries again in some seconds.
func serveAway(w http.ResponseWriter, status int) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, awayPage) // it fails when the client is gone
}
