package portal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/busline/busline/bus"
)

// Ingress lets outside HTTP onto the bus: it maps /<host>[:<port>]/<path> to https://<host>:<port>/<path>, where an
// instance ID may precede the host. It is an http.Handler that may be mounted anywhere and used by many goroutines at
// once. Make one with [NewIngress].
//
// It also redirects / and /portal to the portal's page, and reports its health at /-/healthy (it runs) and /-/ready
// (the broker is there). At /-/metrics are its own metrics in the text format of Prometheus, at /-/metrics/all those of
// every instance on its plane: they name services and callers that a document may hide, so keep /-/ from the outside if
// the ingress is open to the world. /favicon.ico, which browsers ask for by themselves, is 404 without a call.
//
// A Location or Content-Location that a service gives as a path from the root, or as a URL of its own host, is
// rewritten to the address that the client has to use, below the prefix and the host of the path; so routers and
// redirects need not know about these. So is the Path of a cookie, which never lies outside the service's own path; its Domain
// is dropped, and so are cookies that are malformed, too large or too many, or have a name with the prefix __Host-.
//
// A call fails with problem+json (RFC 9457) whose instance is the path as the caller sent it. A detail that is
// internal, as [bus.IsInternal] says, is only for the service's log: the outside sees only the id of the message.
type Ingress struct {
	conn    *bus.Conn
	config  *ingressConfig
	bodies  *inFlight
	cookies droppedCookies
	scraped shared[string]
	roster  roster
	handler http.Handler // serve, behind the rules for other origins
}

// NewIngress returns an ingress that calls with conn, which should be connected as "ingress": services see that host as
// their caller. Close the connection after the server has stopped. An error names the invalid option.
func NewIngress(conn *bus.Conn, options ...IngressOption) (*Ingress, error) {
	if conn == nil {
		return nil, errors.New("the ingress cannot call without a connection")
	}
	config, err := newIngressConfig(options)
	if err != nil {
		return nil, fmt.Errorf("ingress: %w", err)
	}
	ingress := &Ingress{conn: conn, config: config, bodies: newInFlight(config.inFlight)}
	ingress.scraped = shared[string]{age: scrapeAge, timeout: scrapeTimeout, now: time.Now, look: ingress.scrapeAll}
	ingress.handler = config.guardOrigins(ingress)
	return ingress, nil
}

// ServeHTTP calls a service on the bus for a request, and writes its response.
func (i *Ingress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		// net/http does not say whether the request had a Content-Length as well, by which an intermediary may have
		// found a different end of it (RFC 9112, 6.3). So the connection is closed, and what follows on it is not read.
		w.Header().Set("Connection", "close")
	}
	i.handler.ServeHTTP(w, r)
}

// serve dispatches a request by its path.
func (i *Ingress) serve(w http.ResponseWriter, r *http.Request) {
	if err := i.config.checkRequest(r); err != nil {
		i.turnAway(w, r, err)
		return
	}
	if err := i.checkSite(r); err != nil {
		i.turnAway(w, r, err)
		return
	}
	path := "/" + strings.TrimPrefix(sentPath(r.URL), "/") // http.StripPrefix may have removed the slash
	switch {
	case leadsToPortal(path):
		i.redirectToPortal(w, r)
	case path == iconPath:
		i.turnAway(w, r, bus.Errorf(http.StatusNotFound, "the ingress has no icon; the page of a service has to link to its own"))
	case forOperators(path):
		i.tellOperator(w, r, path)
	default:
		i.carry(w, r, path)
	}
}

// carry calls a service for a request. The time budget starts when the body has arrived; the call is cancelled when the
// client disconnects.
func (i *Ingress) carry(w http.ResponseWriter, r *http.Request, path string) {
	if err := checkWorker(r, path); err != nil {
		i.turnAway(w, r, err)
		return
	}
	to, err := addressOf(path, i.config.ports)
	if err != nil {
		i.turnAway(w, r, err)
		return
	}
	token, err := i.actor(r)
	if err != nil {
		i.turnAway(w, r, err)
		return
	}
	load := &load{of: i.bodies}
	defer load.drop()
	body, err := i.config.readBody(w, r, load)
	budget := i.config.budget(r)
	// the response has its full time from now on, however long the body took; not every server supports this
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(budget + writeTimeout))
	if err != nil {
		i.turnAway(w, r, err)
		return
	}
	if err := load.reserve(r.Method, to); err != nil {
		i.turnAway(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), budget)
	defer cancel()
	response, err := i.conn.Do(i.request(bus.WithActor(ctx, token), r, to, body))
	if err != nil && missesPage(r, to, err) {
		serveAway(w, bus.StatusOf(err))
		return
	}
	if err != nil {
		i.refuse(w, r, err)
		return
	}
	if err := load.exchange(r, response); err != nil {
		i.refuse(w, r, err)
		return
	}
	i.adaptLocations(r, path, to, response)
	i.confineCookies(r, path, to, response)
	i.config.confine(to, response)
	i.relay(w, r, response)
}

// request returns the request to send on the bus.
func (i *Ingress) request(ctx context.Context, r *http.Request, to *url.URL, body []byte) *http.Request {
	to.RawQuery = r.URL.RawQuery
	request := &http.Request{
		Method: r.Method, URL: to, Header: inward(r.Header),
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	if bus.ActorOf(ctx) != "" {
		request.Header.Del("Authorization") // it travels as the call's actor
	}
	i.config.forwarding(r).writeTo(request.Header)
	return request.WithContext(ctx)
}

// relay writes the response of a service to the client.
func (i *Ingress) relay(w http.ResponseWriter, r *http.Request, response *http.Response) {
	if response.StatusCode < http.StatusOK || response.StatusCode > maxStatus {
		i.refuse(w, r, bus.Errorf(http.StatusBadGateway, "the service answered with status %d", response.StatusCode))
		return
	}
	if r.Method != http.MethodHead {
		if err := adaptProblem(requestPath(r), response); err != nil {
			i.refuse(w, r, err)
			return
		}
	}
	outward(w.Header(), response.Header)
	sayWhoAnswered(w.Header(), response.Header)
	writeResponse(w, r, response)
}

// maxStatus is the largest status code in HTTP (RFC 9110, 15).
const maxStatus = 599
