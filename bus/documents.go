package bus

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

const (
	documentPath   = "/openapi.json"
	defaultBaseURL = "http://127.0.0.1:8080"
)

// documents serves the OpenAPI document of each port that has a public endpoint.
type documents struct {
	mu        sync.Mutex       // protects all below
	docs      map[int][]string // by port: the doc comments of what is served
	endpoints map[int][]*endpoint
	rendered  map[renderedKey][]byte
}

type renderedKey struct {
	port    int
	baseURL string
}

// maxRendered bounds the documents kept for different base URLs.
const maxRendered = 64

func newDocuments() *documents {
	return &documents{docs: make(map[int][]string), endpoints: make(map[int][]*endpoint), rendered: make(map[renderedKey][]byte)}
}

// describe adds the doc comment of a type to the documents in which its endpoints are shown.
func (d *documents) describe(doc string, endpoints []*endpoint) {
	if doc == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range endpoints {
		if !e.hidden && !slices.Contains(d.docs[e.port], doc) {
			d.docs[e.port] = append(d.docs[e.port], doc)
		}
	}
	clear(d.rendered)
}

// missing returns the endpoints that serve the documents of ports which become public.
func (d *documents) missing(c *Conn, added []*endpoint) (endpoints []*endpoint, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	made := make(map[int]bool)
	for _, e := range added {
		if e.hidden || made[e.port] || len(d.endpoints[e.port]) > 0 {
			continue
		}
		made[e.port] = true
		document, err := d.endpoint(c, e.port)
		if err != nil {
			return nil, err
		}
		endpoints = append(endpoints, document)
	}
	return endpoints, nil
}

func (d *documents) endpoint(c *Conn, port int) (*endpoint, error) {
	mapped, err := restmap.Handler(http.MethodGet, documentPath)
	if err != nil {
		return nil, err
	}
	document := &endpoint{endpointConfig: newEndpointConfig(), mapped: mapped}
	document.port, document.hidden = port, true
	document.run = runWeb(document, func(w http.ResponseWriter, r *http.Request) error {
		body, err := d.render(c, port, c.BaseURL(r))
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store") // it names the address that it was asked at
		_, err = w.Write(body)
		return err
	})
	return document, nil
}

// add takes in what has become live.
func (d *documents) add(added []*endpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range added {
		if !e.hidden {
			d.endpoints[e.port] = append(d.endpoints[e.port], e)
		}
	}
	clear(d.rendered)
}

func (d *documents) render(c *Conn, port int, baseURL string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := renderedKey{port, baseURL}
	if body := d.rendered[key]; body != nil {
		return body, nil
	}
	service := openapi.Service{
		Host: c.host, Port: port, Version: c.version, BaseURL: baseURL,
		Description: cmp.Or(c.description, strings.Join(d.docs[port], "\n\n")),
	}
	for _, e := range d.endpoints[port] {
		service.Endpoints = append(service.Endpoints, &openapi.Described{Endpoint: e.mapped, Description: e.description})
	}
	document, err := openapi.Build(service)
	if err != nil {
		return nil, err
	}
	body, err := document.JSON()
	if err == nil && len(d.rendered) < maxRendered {
		d.rendered[key] = body
	}
	return body, err
}

// BaseURL returns the address under which people reach the ingress, without a slash at the end: that of [WithBaseURL]
// or BUS_BASE_URL, else the one that the ingress told with the request r, else http://127.0.0.1:8080.
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
