package ingress

import (
	_ "embed" // of away.html
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/internal/outside"
)

// rejectRequest responds with an error that keeps a request from being carried, so that no service has seen it.
func (i *Handler) rejectRequest(w http.ResponseWriter, r *http.Request, err error) {
	if failed, ok := errors.AsType[*bus.Error](err); ok {
		unsent := *failed // errors may be shared
		unsent.Executed = bus.ExecutedNo
		err = &unsent
	}
	i.refuse(w, r, err)
}

// refuse responds with an error of the ingress itself, or of a call that got no response.
func (i *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	bus.WriteError(w, r, i.visible(r, err))
}

// visible returns an error as clients may see it. An internal one is logged.
func (i *Handler) visible(r *http.Request, err error) *bus.Error {
	failed := outside.Visible(err)
	if failed.Host == "" {
		failed.Host, failed.ID = i.conn.Host(), i.conn.ID()
	}
	failed.Path = requestPath(r)
	if errors.Is(failed, bus.ErrNoResponder) {
		inside := " in plane " + i.conn.Plane() // is of no use outside
		failed.Detail = strings.TrimSuffix(failed.Detail, inside) + unstripped(r)
	}
	if bus.IsInternal(err) {
		logger := i.conn.Logger()
		logger.Error().Err(err).Str("method", r.Method).Str("path", failed.Path).Msg("request failed")
	}
	return failed
}

// unstripped returns a hint for an application that mounts the ingress under a prefix without removing it from the
// path, so that the prefix is taken for a host; "" if that is not the case.
func unstripped(r *http.Request) string {
	_, mount, _ := strings.Cut(r.Pattern, "/")
	mount, _, _ = strings.Cut(mount, "{")
	if mount = cleanPrefix(mount); mount == "" || mountPrefix(r) != "" {
		return ""
	}
	return fmt.Sprintf("; the ingress is mounted under %s: remove that from the path with http.StripPrefix(%q, ingress)",
		mount, mount)
}

// missesPage reports whether a browser has asked for the portal's page and the call failed because no instance serves
// it.
func missesPage(r *http.Request, to *url.URL, err error) bool {
	status := bus.StatusOf(err)
	return to.Hostname() == outside.HostPortal && to.Path == "/" && r.Method == http.MethodGet &&
		(status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// serveUnavailable writes a page for people, who have no use for a problem in JSON. The page reloads itself after some
// seconds.
func serveUnavailable(w http.ResponseWriter, status int) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, unavailablePage) // fails only if the client has gone
}

// awayPage is what a browser gets instead of the page while the page, which is served on the bus, cannot be reached.
//
//go:embed away.html
var unavailablePage string
