package bus

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

const (
	documentPath   = "/openapi.json"
	defaultBaseURL = "http://127.0.0.1:8080"
)

// What all documents are served by is planned once.
//
//nolint:gochecknoglobals // it does not change
var documentHandler = sync.OnceValues(func() (*restmap.Endpoint, error) { return restmap.Handler(http.MethodGet, documentPath) })

// documents serves the OpenAPI document of each port that has a public endpoint. The zero value has none.
type documents struct {
	mu        sync.Mutex // protects all below
	docs      []typeDoc
	endpoints []*endpoint           // that are not hidden, of all ports
	shaped    map[shape][]*endpoint // the same, as one connection may have thousands
	rendered  map[renderedKey][]byte
}

// renderedKey is what a document depends on. Callers who see the same endpoints share one, whoever they are.
type renderedKey struct {
	port    int
	baseURL string
	visible string // a byte for each endpoint of the port
}

// typeDoc is the doc comment of a type, for those who see one of its endpoints.
type typeDoc struct {
	doc       string
	endpoints []*endpoint
}

// shape is what OpenAPI tells paths of a host apart by.
type shape struct {
	port int
	path string // /a/{} for /a/{x} and for /a/{x+}
}

func (e *endpoint) shape() shape { return shape{e.Port, openapi.ShapeOf(e.Path)} }

// maxRendered bounds the documents kept for different base URLs.
const maxRendered = 64

// describe adds the doc comment of a type to the documents in which its endpoints are shown.
func (d *documents) describe(doc string, endpoints []*endpoint) {
	if doc == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.docs = append(d.docs, typeDoc{doc, endpoints})
	clear(d.rendered)
}

// missing returns the endpoints that serve the documents of ports which become public.
func (d *documents) missing(c *Conn, added []*endpoint) (endpoints []*endpoint, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	made := make(map[int]bool)
	for _, e := range added {
		if e.hidden || made[e.Port] || slices.ContainsFunc(d.endpoints, e.sharesPort) {
			continue
		}
		made[e.Port] = true
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
	document.run = runWeb(document, func(w http.ResponseWriter, r *http.Request) error {
		body, err := d.render(c, port, c.BaseURL(r), servingOf(r.Context()).claims)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "private, no-store") // it depends on who asks, and at which address
		_, err = w.Write(body)
		return err
	})
	return document, nil
}

// add takes in what has become live.
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
	clear(d.rendered)
}

// render makes the document of a port for a caller with these claims. Who sees nothing there gets 404, as if nothing were
// served.
func (d *documents) render(c *Conn, port int, baseURL string, verified claims.Claims) ([]byte, error) {
	visible, marks := visibleOf(d.shown(port), verified)
	if len(visible) == 0 {
		return nil, newError(http.StatusNotFound, ExecutedYes, nil, "%s has no document on port %d for this caller", c.host, port)
	}
	key := renderedKey{port, baseURL, marks}
	d.mu.Lock()
	defer d.mu.Unlock()
	if body := d.rendered[key]; body != nil {
		return body, nil
	}
	service := openapi.Service{
		Host: c.host, Port: port, Version: c.version, BaseURL: baseURL,
		Description: cmp.Or(c.description, d.description(visible)),
	}
	for _, e := range visible {
		service.Endpoints = append(service.Endpoints, &openapi.Described{Endpoint: e.mapped, Description: e.description, Secured: e.rule != nil})
	}
	document, err := openapi.Build(service)
	if err != nil {
		return nil, err
	}
	body, err := document.JSON()
	if err != nil {
		return nil, err
	}
	if d.rendered == nil || len(d.rendered) >= maxRendered { // addresses and views come and go
		d.rendered = make(map[renderedKey][]byte)
	}
	d.rendered[key] = body
	return body, nil
}

// shown returns the endpoints of a port that are not hidden from everybody.
func (d *documents) shown(port int) (endpoints []*endpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.endpoints {
		if e.Port == port {
			endpoints = append(endpoints, e)
		}
	}
	return endpoints
}

// beside returns the endpoints, not hidden from everybody, whose paths OpenAPI does not tell from that of e.
func (d *documents) beside(e *endpoint) []*endpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.shaped[e.shape()])
}

// visibleOf returns the endpoints that a caller may call, and which of all these are.
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

// description joins the doc comments of the types that a caller sees something of. The lock is held.
func (d *documents) description(visible []*endpoint) string {
	var docs []string
	for _, of := range d.docs {
		seen := slices.ContainsFunc(of.endpoints, func(e *endpoint) bool { return slices.Contains(visible, e) })
		if seen && !slices.Contains(docs, of.doc) {
			docs = append(docs, of.doc)
		}
	}
	return strings.Join(docs, "\n\n")
}

// descriptionOfAll joins the doc comments of all ports, as a caller without a token sees them.
func (d *documents) descriptionOfAll() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	visible, _ := visibleOf(d.endpoints, nil)
	return d.description(visible)
}

// BaseURL returns the address under which people reach the ingress, without a trailing slash: that of [WithBaseURL] or
// BUS_BASE_URL, else the one that the ingress sent along with the request r, else http://127.0.0.1:8080.
func (c *Conn) BaseURL(r *http.Request) string {
	if c.baseURL != "" {
		return c.baseURL
	}
	host, proto := r.Header.Get("X-Forwarded-Host"), r.Header.Get("X-Forwarded-Proto")
	if host == "" || proto == "" {
		return defaultBaseURL
	}
	told := proto + "://" + host + strings.TrimSuffix(r.Header.Get("X-Forwarded-Prefix"), "/")
	if openapi.CheckBaseURL(told) != nil {
		return defaultBaseURL
	}
	return told
}
