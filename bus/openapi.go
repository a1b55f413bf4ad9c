package bus

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi31"
)

const (
	documentPath   = "/openapi.json"
	defaultBaseURL = "http://127.0.0.1:8080"
)

// documentHandler plans the endpoint of all documents once.
//
//nolint:gochecknoglobals // it does not change
var documentHandler = sync.OnceValues(func() (*restmap.Endpoint, error) {
	return restmap.Handler(http.MethodGet, documentPath)
})

// documents serves the OpenAPI document of each port that has a public endpoint. The zero value has no endpoints.
type documents struct {
	mu        sync.Mutex // protects all below
	docs      []typeDoc
	endpoints []*endpoint           // of all ports, without hidden ones
	shaped    map[shape][]*endpoint // endpoints by shape: one connection may have thousands
	rendered  map[renderedKey][]byte
	digested  string // see digest; "" while it is not known
	changes   int    // of the endpoints
}

// renderedKey is everything that a document depends on. Callers that see the same endpoints share one document,
// whatever their claims.
type renderedKey struct {
	port    int
	changes int // before which it was made
	baseURL string
	atRoot  bool   // the base URL is the place of the service, so that paths begin without its host
	visible string // one byte per endpoint of the port
	events  string // those in a document of OpenAPI 3.1; "" for one of 3.0.0
}

// typeDoc is the doc comment of a type, shown to callers that see one of its endpoints.
type typeDoc struct {
	doc       string
	endpoints []*endpoint
}

// shape identifies a path in OpenAPI: paths of one shape cannot both be listed.
type shape struct {
	port int
	path string // /a/{} for /a/{x} and for /a/{x+}
}

func (e *endpoint) shape() shape { return shape{e.Port, openapi.CanonicalPath(e.Path)} }

// maxRendered limits the documents that are cached.
const maxRendered = 64

// describe adds the doc comment of a type to the documents in which its endpoints are shown.
func (d *documents) describe(doc string, endpoints []*endpoint) {
	if doc == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.docs = append(d.docs, typeDoc{doc, endpoints})
	d.changedLocked()
}

// changedLocked forgets what was made of the endpoints.
func (d *documents) changedLocked() {
	d.changes++
	clear(d.rendered)
	d.digested = ""
}

// digest returns a short text that identifies the document of c for authors, that of [Conn.OpenAPI]; ""
// without endpoints, or if there is no document.
func (d *documents) digest(c *Conn) string {
	d.mu.Lock()
	known, count, changes := d.digested, len(d.endpoints), d.changes
	d.mu.Unlock()
	if known != "" || count == 0 {
		return known
	}
	document, err := c.OpenAPI()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(document)
	known = hex.EncodeToString(sum[:8])
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changes == changes { // else it is out of date, and so made again for the next one
		d.digested = known
	}
	return known
}

// missing returns the document endpoints of ports that become public.
func (d *documents) missing(c *Conn, added []*endpoint) (endpoints []*endpoint, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ports := make(map[int]bool)
	for _, e := range added {
		if e.hidden || ports[e.Port] || slices.ContainsFunc(d.endpoints, e.sharesPort) {
			continue
		}
		ports[e.Port] = true
		document, err := d.endpoint(c, e.Port)
		if err != nil {
			return nil, err
		}
		endpoints = append(endpoints, document)
	}
	return endpoints, nil
}

func (d *documents) endpoint(c *Conn, port int) (*endpoint, error) {
	mapped, err := documentHandler()
	if err != nil {
		return nil, err
	}
	config := newEndpointConfig()
	config.port, config.hidden = port, true
	document := newEndpoint(config, mapped.Name, mapped)
	document.isDocument = true
	document.run = runWeb(document, func(w http.ResponseWriter, r *http.Request) error {
		is31, err := openapi31.IsWanted(r.URL.Query())
		if err != nil {
			return hasRun(http.StatusBadRequest, err, "%s", err)
		}
		call := callctx.Of(r.Context())
		body, err := d.render(c, keyOf(c, port, r, call.Request), is31, call.Claims)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "private, no-store") // it depends on the caller's claims and the address
		_, err = w.Write(body)
		return err
	})
	return document, nil
}

// keyOf returns where a caller reaches what a document describes: at the ingress, or at the public path through which
// it was asked for.
func keyOf(c *Conn, port int, r *http.Request, message *wire.Request) renderedKey {
	key := renderedKey{port: port, baseURL: c.BaseURL(r)}
	public := fromIngress(message, "X-Forwarded-Public-Path")
	address := key.baseURL + strings.TrimSuffix(public, "/")
	if strings.HasPrefix(public, "/") && openapi.CheckBaseURL(address) == nil {
		key.baseURL, key.atRoot = address, true
	}
	return key
}

// add adds endpoints that have become live.
func (d *documents) add(added []*endpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shaped == nil {
		d.shaped = make(map[shape][]*endpoint)
	}
	for _, e := range added {
		if !e.hidden {
			d.endpoints = append(d.endpoints, e)
			d.shaped[e.shape()] = append(d.shaped[e.shape()], e)
		}
	}
	d.changedLocked()
}

// remove removes endpoints that were withdrawn.
func (d *documents) remove(withdrawn []*endpoint) {
	isWithdrawn := func(e *endpoint) bool { return slices.Contains(withdrawn, e) }
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endpoints = slices.DeleteFunc(d.endpoints, isWithdrawn)
	d.docs = slices.DeleteFunc(d.docs, func(of typeDoc) bool { return slices.ContainsFunc(of.endpoints, isWithdrawn) })
	for _, e := range withdrawn {
		if d.shaped[e.shape()] = slices.DeleteFunc(d.shaped[e.shape()], isWithdrawn); len(d.shaped[e.shape()]) == 0 {
			delete(d.shaped, e.shape())
		}
	}
	d.changedLocked()
}

// render returns the document of a port and a base URL for a caller with these claims, in OpenAPI 3.0.0 or in 3.1, with
// the events that the caller may see. A caller that sees no endpoint of the port gets 404, as if nothing were served.
func (d *documents) render(c *Conn, key renderedKey, is31 bool, verified claims.Claims) ([]byte, error) {
	shown, changes := d.shown(key.port)
	visible, marks := visibleOf(shown, verified)
	if len(visible) == 0 {
		return nil, hasRun(http.StatusNotFound, nil, "%s has no document on port %d for this caller", c.host, key.port)
	}
	key.visible, key.changes = marks, changes
	var events *openapi31.Events
	if is31 {
		var err error
		if events, key.events, err = c.publishedEvents(verified); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if body := d.rendered[key]; body != nil {
		return body, nil
	}
	document, err := d.buildLocked(c, key, visible)
	if err != nil {
		return nil, err
	}
	text := document.JSON
	if is31 {
		text = openapi31.Convert(document, c.host, events).JSON
	}
	body, err := text()
	if err != nil {
		return nil, err
	}
	if d.rendered == nil || len(d.rendered) >= maxRendered { // base URLs and views come and go
		d.rendered = make(map[renderedKey][]byte)
	}
	d.rendered[key] = body
	return body, nil
}

// publishedEvents returns the events that a caller with these claims may see, and a short text that identifies them.
func (c *Conn) publishedEvents(verified claims.Claims) (*openapi31.Events, string, error) {
	events, err := c.extensions.Events(verified)
	if err != nil {
		return nil, "", err
	}
	text, err := strictjson.Marshal(events)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(text)
	return events, string(sum[:]), nil
}

// buildLocked returns the document of the endpoints that a caller sees.
func (d *documents) buildLocked(c *Conn, key renderedKey, visible []*endpoint) (*openapi.Document, error) {
	service := openapi.Service{
		Host: c.host, Port: key.port, Version: c.config.version, BaseURL: key.baseURL, AtRoot: key.atRoot,
		Description: cmp.Or(c.config.description, d.descriptionLocked(visible)),
	}
	for _, e := range visible {
		service.Endpoints = append(service.Endpoints,
			&openapi.EndpointDoc{Endpoint: e.mapped, Description: e.description, Secured: e.rule != nil,
				Callers: e.callers, Web: e.web})
	}
	return openapi.Build(service)
}

// shown returns the endpoints of a port that are not hidden from all callers, and how often they have changed.
func (d *documents) shown(port int) (endpoints []*endpoint, changes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.endpoints {
		if e.Port == port {
			endpoints = append(endpoints, e)
		}
	}
	return endpoints, d.changes
}

// beside returns the endpoints, not hidden from all callers, whose paths have the same shape as that of e.
func (d *documents) beside(e *endpoint) []*endpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.shaped[e.shape()])
}

// visibleOf returns the endpoints that a caller may call, and marks with one byte per endpoint of all.
func visibleOf(all []*endpoint, verified claims.Claims) (visible []*endpoint, marks string) {
	marked := make([]byte, len(all))
	for i, e := range all {
		if marked[i] = '-'; e.allows(verified) {
			marked[i] = '+'
			visible = append(visible, e)
		}
	}
	return visible, string(marked)
}

// descriptionLocked joins the doc comments of the types that have a visible endpoint.
func (d *documents) descriptionLocked(visible []*endpoint) string {
	var docs []string
	for _, of := range d.docs {
		seen := slices.ContainsFunc(of.endpoints, func(e *endpoint) bool { return slices.Contains(visible, e) })
		if seen && !slices.Contains(docs, of.doc) {
			docs = append(docs, of.doc)
		}
	}
	return strings.Join(docs, "\n\n")
}

// descriptionOfAll joins the doc comments of all ports, as visible without a token.
func (d *documents) descriptionOfAll() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	visible, _ := visibleOf(d.endpoints, nil)
	return d.descriptionLocked(visible)
}

// BaseURL returns the external address of the ingress, without a trailing slash: that of [WithBaseURL] or BUS_BASE_URL,
// else the one that the ingress added to the request r, else http://127.0.0.1:8080.
func (c *Conn) BaseURL(r *http.Request) string {
	if c.config.baseURL != "" {
		return c.config.baseURL
	}
	host, proto := r.Header.Get("X-Forwarded-Host"), r.Header.Get("X-Forwarded-Proto")
	if host == "" || proto == "" {
		return defaultBaseURL
	}
	base := proto + "://" + host + strings.TrimSuffix(r.Header.Get("X-Forwarded-Prefix"), "/")
	if openapi.CheckBaseURL(base) != nil {
		return defaultBaseURL
	}
	return base
}

// OpenAPIOf returns the OpenAPI 3.0.0 document, in JSON, of what [Serve] would serve on a host: all ports, regardless
// of the claims of a caller, without hidden endpoints. It is meant for the authors of the service. Unlike published
// documents it shows the expressions of [RequireClaims], as x-claims, and the other HTTP methods under which an
// endpoint is served, as x-also. It takes the arguments of Serve, registers nothing, and returns the same errors.
func OpenAPIOf[T any](host string, impl T, options ...ServeOption) ([]byte, error) {
	endpoints, service, err := plan(feature.InterfaceOf[T](), impl, newServiceConfig(options))
	if err != nil {
		return nil, fmt.Errorf("describe %T: %w", impl, err)
	}
	served, err := new(documents).missing(nil, endpoints)
	if err == nil {
		err = errors.Join(validOwnHost(host), validEndpoints(defaultPlane, host, endpoints),
			checkRoutes(slices.Concat(endpoints, served)))
	}
	if err != nil {
		return nil, fmt.Errorf("describe %T: %w", impl, err)
	}
	endpoints = slices.DeleteFunc(endpoints, func(e *endpoint) bool { return e.hidden })
	document, err := writeDocument(openapi.Service{Host: host, Description: service.Doc}, endpoints)
	if err != nil {
		return nil, fmt.Errorf("describe %T: %w", impl, err)
	}
	return document, nil
}

// OpenAPI returns the document of all endpoints that the connection serves now, including plain handlers, in the form
// of [OpenAPIOf].
func (c *Conn) OpenAPI() ([]byte, error) {
	document, err := writeDocument(openapi.Service{Host: c.host, Description: c.config.description}, c.documents.all())
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", c.host, err)
	}
	return document, nil
}

// writeDocument returns the document for authors.
func writeDocument(service openapi.Service, endpoints []*endpoint) ([]byte, error) {
	service.Port, service.Own = subject.PublicPort, true
	for _, e := range endpoints {
		service.Endpoints = append(service.Endpoints, &openapi.EndpointDoc{
			Endpoint: e.mapped, Description: e.description, Secured: e.secured, Claims: e.claims,
			Callers: e.callers, Port: e.Port, Web: e.web,
		})
	}
	document, err := openapi.Build(service)
	if err != nil {
		return nil, err
	}
	return document.JSON()
}

// all returns the endpoints of all ports that are not hidden, by port.
func (d *documents) all() []*endpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(d.endpoints),
		func(a, b *endpoint) int { return cmp.Compare(a.Port, b.Port) })
}

// warnOfDisplaced logs a warning for each endpoint that is served but not listed in a document, because of another
// endpoint with the same path there. Either of the two may have been added first.
func (c *Conn) warnOfDisplaced(added []*endpoint) {
	for _, e := range added {
		if e.hidden {
			continue
		}
		for _, other := range c.documents.beside(e) {
			switch {
			case openapi.Conflicts(other.mapped, e.mapped):
				c.warnThatDisplaced(e, other)
			// otherwise the loop reaches other itself
			case openapi.Conflicts(e.mapped, other.mapped) && !slices.Contains(added, other):
				c.warnThatDisplaced(other, e)
			}
		}
	}
}

func (c *Conn) warnThatDisplaced(e, by *endpoint) {
	c.logger.Warn().Str("endpoint", e.Name).Str("path", e.Path).
		Msgf("the endpoint is served, but not in documents, where its path is the same as %s of %s: "+
			"give it a path of another form, or hide it", by.Path, by.Name)
}

// CheckNames returns an error if callers would miss something in production, in a binary that is trimmed, stripped and
// far from its source: names of arguments and results that are known only from the source on this machine or from debug
// data, doc comments that would be lost, or a signature table or embedded source that is out of date. The error lists
// all problems with their remedies. It also returns what Serve says of the methods themselves, such as one that is
// named like REST and would be served as RPC. CheckNames takes the arguments of [Serve] and registers nothing. It is
// meant for tests: see CheckNames of bus/bustest.
func CheckNames[T any](impl T, options ...ServeOption) error {
	config := newServiceConfig(options)
	if config.err != nil {
		return config.err
	}
	if err := reflectapi.CheckNames(feature.InterfaceOf[T](), impl, config.describe...); err != nil {
		return err
	}
	_, _, err := plan(feature.InterfaceOf[T](), impl, config)
	return err
}

// checkRoutes returns an error for endpoints that no path can distinguish.
func checkRoutes(endpoints []*endpoint) error {
	for _, e := range endpoints {
		e.route()
	}
	return server.NewRouter().Add(routedOf(endpoints))
}
