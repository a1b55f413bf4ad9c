package ingress

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/portal/internal/plane"
)

// Handler lets outside HTTP onto the bus: it maps /<host>[:<port>]/<path> to https://<host>:<port>/<path>, where an
// instance ID may precede the host. It is an http.Handler that may be mounted anywhere and used by many goroutines at
// once. Make one with [New]. [Listen] bounds the connections; any other server has to do so itself.
//
// It also redirects / and /portal to the portal's page, and reports its health at /-/healthy (it runs) and /-/ready
// (the broker is there). At /-/metrics are its own metrics in the text format of Prometheus, at /-/metrics/all those of
// every instance on its plane: they name services and callers that a document may hide, so keep /-/ from the outside if
// the ingress is open to the world. /favicon.ico, which browsers ask for by themselves, is 404 without a call.
//
// A Location, Content-Location or Refresh that a service gives as a path, or as a URL of its own host, is rewritten to
// the address that the client has to use, below the prefix and the host of the path; so routers and redirects need not
// know about these. So is the Path of a cookie, which never lies outside the service's own path; its
// Domain is dropped, and so are cookies that are malformed, too large or too many, or have a name with the prefix
// __Host-.
//
// So are the Origin, Referer and Destination of a request that refer to the service, to its address on the bus. A
// redirect that differs from the URL called only in being https is to https outside.
//
// A call fails with problem+json (RFC 9457) whose instance is the path as the caller sent it. A detail that is
// internal, as [bus.IsInternal] says, is only for the service's log: the outside sees only the id of the message.
type Handler struct {
	conn    *bus.Conn
	config  *config
	bodies  *inFlight
	cookies droppedCookies
	cutOffs cutOffLog
	scraped plane.Shared[string]
	roster  plane.Roster
	streams *eventStreams
	handler http.Handler // serve, behind the rules for other origins
}

// New returns an ingress that calls with conn, which should be connected as "ingress": services see that host as
// their caller. Close the connection after the server has stopped. An error names the invalid option.
func New(conn *bus.Conn, options ...Option) (*Handler, error) {
	if conn == nil {
		return nil, errors.New("the ingress cannot call without a connection")
	}
	config, err := newConfig(options)
	if err != nil {
		return nil, fmt.Errorf("ingress: %w", err)
	}
	ingress := &Handler{conn: conn, config: config, bodies: newInFlight(config.inFlight)}
	ingress.scraped = plane.Shared[string]{Age: plane.Always[string](scrapeAge), Timeout: scrapeTimeout, Now: time.Now,
		Look: ingress.scrapeAll}
	ingress.streams = newEventStreams(conn, config.eventStreams)
	ingress.handler = config.guardOrigins(ingress)
	return ingress, nil
}

// ServeHTTP calls a service on the bus for a request, and writes its response.
func (i *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		// net/http does not say whether the request had a Content-Length as well, by which an intermediary may have
		// found a different end of it (RFC 9112, 6.3). So the connection is closed, and what follows on it is not read.
		w.Header().Set("Connection", "close")
	}
	i.handler.ServeHTTP(w, r)
}

// serve dispatches a request by its path.
func (i *Handler) serve(w http.ResponseWriter, r *http.Request) {
	load := &reservation{of: i.bodies}
	defer load.release()
	if err := i.config.checkRequest(r, load); err != nil {
		i.rejectBody(w, r, err)
		return
	}
	from := i.config.forwarding(r)
	if err := i.checkSite(r, &from); err != nil {
		i.rejectRequest(w, r, err)
		return
	}
	path := "/" + strings.TrimPrefix(outside.SentPath(r.URL), "/") // http.StripPrefix may have removed the slash
	if len(i.config.issuers) > 0 && !i.config.hasOwnTokens(path) {
		w = &challengingWriter{ResponseWriter: w, metadata: i.baseURL(&from) + metadataPath + i.config.resourceOf(path)}
	}
	switch isPublic := i.config.paths.Of(path) != nil; {
	case isPublic:
		i.forward(w, r, path, &from, load)
	case leadsToPortal(path):
		i.redirectToPortal(w, r, &from)
	case path == iconPath:
		i.rejectRequest(w, r, bus.Errorf(http.StatusNotFound,
			"the ingress has no icon; the page of a service has to link to its own"))
	case forOperators(path):
		i.serveOperators(w, r, path)
	case strings.HasPrefix(path, metadataPath) && len(i.config.issuers) > 0:
		i.serveMetadata(w, r, path, &from)
	case i.config.handlerOf(path) != nil:
		i.serveHandler(w, r, &from, load, i.config.handlerOf(path))
	case i.config.events != nil && namesEvent(path):
		i.serveEvents(w, r, path)
	default:
		i.forward(w, r, path, &from, load)
	}
}

// forward calls a service for a request. The time budget starts when the body has arrived; the call is cancelled when
// the client disconnects.
func (i *Handler) forward(w http.ResponseWriter, r *http.Request, path string, from *forwarding, load *reservation) {
	to, public, err := i.config.paths.addressOf(path)
	if err == nil {
		err = cmp.Or(i.config.paths.checkWorker(r, path, to.Host, public), checkUpgrade(r))
	}
	if err != nil {
		i.rejectRequest(w, r, err)
		return
	}
	from.through(public, to, &i.config.paths)
	token, _, err := i.actor(r, to.Hostname())
	if err != nil {
		i.rejectRequest(w, r, err)
		return
	}
	arriving := i.config.arriving(w, r)
	defer arriving.finish()
	body, err := i.config.bodyOf(arriving, r, load)
	budget := i.config.budget(r)
	// the response has its full time from now on, however long the body took; not every server supports this
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(budget + writeTimeout))
	if err != nil {
		i.rejectBody(w, r, err)
		return
	}
	if err := load.reserve(r.Method, to); err != nil {
		i.rejectRequest(w, r, err)
		return
	}
	ctx := bus.WithActor(r.Context(), token)
	// which a call without a deadline has anyway
	if _, limited := ctx.Deadline(); limited || budget != wire.DefaultTimeBudget {
		ctx = bus.WithTimeBudget(ctx, budget)
	}
	response, err := i.conn.Do(i.request(ctx, r, to, body, from))
	if failed := bodyFailure(err); failed != nil {
		i.rejectBody(w, r, failed)
		return
	}
	if err != nil && missesPage(r, to, err) {
		serveUnavailable(w, bus.StatusOf(err))
		return
	}
	if err != nil {
		i.refuse(w, r, err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	if err = load.exchange(r, response); err == nil {
		err = i.keepOwnPaths(to, public, response, load)
	}
	if err != nil {
		i.refuse(w, r, err)
		return
	}
	place := i.placeOf(from, path, to, public, response)
	place.noteCalled(r, from, path, response)
	place.adaptLocations(response)
	i.filterCookies(r, &place, to, response)
	i.config.applySandboxCSP(to, response)
	i.relay(w, r, response, load)
}

// serveMetadata says where clients can get tokens for the ingress, or for the path of a handler.
func (i *Handler) serveMetadata(w http.ResponseWriter, r *http.Request, path string, from *forwarding) {
	resource := strings.TrimPrefix(path, metadataPath)
	if resource != i.config.resourceOf(resource) {
		i.rejectRequest(w, r, bus.Errorf(http.StatusNotFound, "%.80q is not a resource of its own; %s is about all",
			resource, metadataPath))
		return
	}
	if !i.allowRead(w, r) {
		return
	}
	text, err := json.Marshal(protectedResource{i.baseURL(from) + resource, i.config.issuers, []string{"header"}})
	if err != nil {
		i.rejectRequest(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*") // clients in browsers read it before they may call
	_, _ = w.Write(text)                               // fails only if the client has gone
}

// request returns the request to send on the bus.
func (i *Handler) request(ctx context.Context, r *http.Request, to *url.URL, body io.ReadCloser,
	from *forwarding) *http.Request {
	to.RawQuery = r.URL.RawQuery
	request := &http.Request{
		Method: r.Method, URL: to, Header: filterRequestHeader(r.Header),
		Body: body, ContentLength: r.ContentLength,
	}
	if held, isHeld := body.(wire.Body); isHeld {
		request.ContentLength = int64(held.Len())
	}
	if bus.ActorOf(ctx) != "" {
		request.Header.Del("Authorization") // it travels as the call's actor
	}
	i.adaptReferences(request.Header, from, to)
	from.writeTo(request.Header)
	return request.WithContext(ctx)
}

// actor returns the bearer token of a request and its claims, or "" if it has none. A malformed or invalid token is
// always an error, never treated as absent. An Authorization header of another scheme is not an identity, and is passed
// on like any other header; so is that for a service with tokens of its own.
func (i *Handler) actor(r *http.Request, host string) (token string, verified claims.Claims, err error) {
	if slices.Contains(i.config.ownTokens, host) {
		return "", nil, nil
	}
	headers := r.Header.Values("Authorization")
	if len(headers) > 1 {
		return "", nil, bus.Errorf(http.StatusBadRequest, "there are %d Authorization headers; send one", len(headers))
	}
	token, present, err := claims.Bearer(r.Header.Get("Authorization"))
	if err != nil {
		return "", nil, bus.Errorf(bus.StatusOf(err), "%w", err)
	}
	if !present {
		return "", nil, nil
	}
	verified, err = i.conn.VerifyToken(r.Context(), token)
	return token, verified, err
}

// filterRequestHeader returns the headers of a client's request that are passed on to the bus. Hop-by-hop headers (RFC
// 9110, 7.6.1) are dropped, and so is every name reserved for the bus, so that no client can speak for a service.
func filterRequestHeader(from http.Header) http.Header {
	to := make(http.Header, len(from))
	named := namedInConnection(from)
	for name, values := range from {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if !named[canonical] && !isHopByHop(canonical) && !isBusHeader(name) && canonical != "Expect" {
			addValues(to, canonical, values)
		}
	}
	return to
}

// addValues adds values to a header, under a canonical name. They must not change any more.
func addValues(to http.Header, name string, values []string) {
	if before := to[name]; before != nil {
		values = append(before, values...)
	}
	to[name] = slices.Clip(values)
}

// filterResponseHeader adds the headers of a service's response that are passed on to the client. The ingress itself
// decides on cross-origin access and what holds for its whole origin, and the length is set when the body is written.
// Browsers do not guess the media type, neither browsers nor net/http.
func filterResponseHeader(to, from http.Header) {
	for name, values := range from {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case isHopByHop(canonical), isBusHeader(name), isOriginWide(canonical), ofTheProxy(name),
			canonical == "Content-Length":
		case strings.HasPrefix(canonical, "Access-Control-"), strings.HasPrefix(name, http.TrailerPrefix):
		default:
			addValues(to, canonical, values)
		}
	}
	to.Set("X-Content-Type-Options", "nosniff")
	if _, typed := to["Content-Type"]; !typed {
		to["Content-Type"] = nil
	}
}

// isOriginWide reports whether browsers apply a header to everything on the origin of a response, not only to the
// response: one service would decide for all others. The name is canonical.
func isOriginWide(name string) bool {
	switch name {
	case "Alt-Svc", "Clear-Site-Data", "Nel", "Report-To", "Service-Worker-Allowed", "Strict-Transport-Security":
		return true
	default:
		return false
	}
}

// ofTheProxy reports whether a proxy in front of the ingress may obey a header of a response, such as nginx does: it
// could serve a file of its own, or what is at another address, and change its limits. How it buffers and stores the
// response is for the service to say. An underscore counts as a hyphen, because some servers treat the two alike.
func ofTheProxy(name string) bool {
	switch name = textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-")); name {
	case "X-Sendfile", "X-Sendfile2", "X-Lighttpd-Send-File", "X-Lighttpd-Sendfile", "X-Litespeed-Location",
		"X-Reproxy-File", "X-Reproxy-Url":
		return true
	case "X-Accel-Buffering", "X-Accel-Expires":
		return false
	default:
		return strings.HasPrefix(name, "X-Accel-")
	}
}

// checkUpgrade refuses a request for another protocol. A client that offers HTTP/2 does without (RFC 9110, 7.8).
func checkUpgrade(r *http.Request) error {
	if len(r.Header["Upgrade"]) == 0 || !hasToken(r.Header, "Connection", "upgrade") {
		return nil
	}
	for protocol := range outside.Listed(r.Header, "Upgrade") {
		if protocol != "" && !strings.EqualFold(protocol, "h2c") {
			return bus.Errorf(http.StatusNotImplemented,
				"the bus carries requests and responses, and no %.40q: use server-sent events, or a server of your own beside "+
					"the ingress", protocol)
		}
	}
	return nil
}

// namedInConnection returns the headers that the Connection header lists as hop-by-hop.
func namedInConnection(header http.Header) map[string]bool {
	if len(header.Values("Connection")) == 0 {
		return nil
	}
	named := make(map[string]bool)
	for name := range outside.Listed(header, "Connection") {
		named[textproto.CanonicalMIMEHeaderKey(name)] = true
	}
	return named
}

// isHopByHop reports whether a header is hop-by-hop by definition. The name is canonical.
func isHopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return true
	default:
		return false
	}
}

// isBusHeader reports whether a header is reserved for the bus, or could be mistaken for such a header by a lenient
// parser.
func isBusHeader(name string) bool {
	const prefix = "bus-"
	return len(name) >= len(prefix) && strings.EqualFold(strings.ReplaceAll(name[:len(prefix)], "_", "-"), prefix)
}

// setAnsweredBy adds a header that names the instance that has answered, and the id of its message in logs:
//
//	Proxy-Status: busline; next-hop="k3f9x2m7qp.calculator.example"; msg-id="4Q5CBU6RBMRM4XQVWYTLP2S7CA"
//
// That is the header in which a proxy says where a response comes from (RFC 9209). An entry that the service itself has
// set there comes before this one.
func setAnsweredBy(to, response http.Header) {
	host, id, message := response.Get(wire.HeaderFromHost), response.Get(wire.HeaderFromID), response.Get(wire.HeaderMsgID)
	if host != "" && id != "" { // none of which has quotes
		to.Add("Proxy-Status", "busline; next-hop=\""+id+"."+host+"\"; msg-id=\""+message+"\"")
	}
}
