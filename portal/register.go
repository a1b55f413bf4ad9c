package portal

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi31"
	"github.com/busline/busline/restmap/tsclient"
)

// portalConfig is the configuration of the portal: defaults, then options.
type portalConfig struct {
	ports     []int
	operators *string // the rule of those who operate events, "" for every caller; nil: for none
	now       func() time.Time
	timeouts  timeouts
}

// timeouts are how long the portal waits for answers of the instances.
type timeouts struct {
	discovery time.Duration // to say what they serve; it leaves time to fetch documents
	documents time.Duration // to return their documents, discovery included
	traffic   time.Duration // to return their counts
	logs      time.Duration // that JetStream has to describe all logs
	readers   time.Duration // of the map, until they get the last one
}

func defaultTimeouts() timeouts {
	return timeouts{
		discovery: 500 * time.Millisecond, documents: 1500 * time.Millisecond, traffic: 1500 * time.Millisecond,
		logs:    3 * time.Second,
		readers: 500 * time.Millisecond,
	}
}

// RegisterOption configures the portal, in [Register].
type RegisterOption interface{ applyToPortal(*portalConfig) }

// WithPorts sets the ports of the bus whose endpoints the page describes. Give the ingress the same ones, in
// ingress.WithPorts. Default: 443 and 80.
func WithPorts(ports ...int) RegisterOption { return portsOption(slices.Clone(ports)) }

type portsOption []int

func (o portsOption) applyToPortal(c *portalConfig) { c.ports = o }

// WithEventOperators says which callers may operate events on the portal's pages: publish by hand, and read, redeliver
// and delete dead letters, whose arguments they see. The rule is an expression on claims as in [bus.RequireClaims]; ""
// allows it to everyone who reaches the portal. Default: BUS_EVENT_OPERATORS, where * stands for everyone; else it is
// allowed to no caller.
func WithEventOperators(rule string) RegisterOption { return eventOperatorsOption(rule) }

type eventOperatorsOption string

func (o eventOperatorsOption) applyToPortal(c *portalConfig) { c.operators = (*string)(&o) }

// everyCaller is the value of BUS_EVENT_OPERATORS that has no rule.
const everyCaller = "*"

// Register serves the portal on conn, which has to be connected as "portal": the page for browsers at /, and at
// /openapi.json one document of everything that is served on public ports of the plane; with ?version=3.1 it is in
// OpenAPI 3.1, and has what is published. Its x-public-paths are those of ingress.WithPath, by which its paths are at
// x-public-places. At /asyncapi.json is one of all events, and at /client.ts a TypeScript client of both, in which
// ?int64=bigint or string chooses the type of integers of 64 bits.
//
// A caller's token is passed on to each service, which leaves out what its bearer may not call.
//
// Nothing is asked unless a client looks. The document is at most 2 s behind what instances announce, however many ask
// for it, and a minute behind those that die without an announcement; documents are fetched again after at most a
// minute. The portal asks the instances for their traffic every second and 4 ms for each instance, and JetStream once a
// second. A client that has a JSON document already gets 304.
//
// A service is left out if its document does not come in time, cannot be read, or describes other hosts. The page shows
// the description of the document, which names it.
//
// The page has two helpers, which the document does not list: /instances.json, the running instances of the services in
// a caller's document, and POST /multicast, with which the page calls all instances of a service, as its caller and
// only under the ports of the document.
//
// /live.json says which services run and who calls whom, how often and how fast, limited to what the document
// describes; /events.json says how full the logs of stored events are, limited to the events in /asyncapi.json; see
// docs/guides/portal.md. Callers that [WithEventOperators] allows to get dead letters from /deadletters.json, POST
// /deadletters redelivers or deletes them, and POST /publish publishes an event.
//
// All of it is live when Register returns. After an error close the connection.
func Register(conn *bus.Conn, options ...RegisterOption) error {
	if conn == nil {
		return errors.New("the portal cannot be served without a connection")
	}
	if conn.Host() != outside.HostPortal {
		return fmt.Errorf("portal on %s: connect as %q, the host that / redirects to", conn.Host(), outside.HostPortal)
	}
	config := &portalConfig{ports: outside.DefaultPorts(), now: time.Now, timeouts: defaultTimeouts()}
	if rule, isSet := os.LookupEnv("BUS_EVENT_OPERATORS"); isSet && rule != "" {
		rule = strings.TrimSpace(rule)
		if rule == everyCaller {
			rule = ""
		}
		config.operators = &rule
	}
	for i, option := range options {
		if option == nil {
			return fmt.Errorf("portal: %w", outside.ErrNilOption(i))
		}
		option.applyToPortal(config)
	}
	if err := outside.CheckPorts("portal.WithPorts", config.ports); err != nil {
		return err
	}
	operators, err := newEventOperators(config.operators)
	if err != nil {
		return err
	}
	handlers, err := pageHandlers()
	if err != nil {
		return err
	}
	all := newCatalogs(conn, config)
	conn.WatchAnnouncements(all.discovery.noteAnnouncement)
	handlers[outside.PathDocument] = &documentHandler{conn: conn, catalogs: all}
	handlers["/asyncapi.json"] = &eventsHandler{catalogs: all}
	handlers["/client.ts"] = &clientHandler{conn: conn, catalogs: all}
	handlers["/instances.json"] = &instancesHandler{catalogs: all}
	handlers["/live.json"] = newLive(conn, all, config)
	handlers["/events.json"] = newEventFigures(conn, all, operators, config)
	operations := &eventOperations{conn}
	handlers["/deadletters.json"] = operators.only(operations.list)
	for path, handler := range handlers {
		if err := conn.Handle(http.MethodGet, path, secured(handler), bus.Undocumented()); err != nil {
			return fmt.Errorf("portal: %w", err)
		}
	}
	for _, each := range []struct {
		path     string
		handler  http.Handler
		maxBytes int
	}{
		{"/multicast", newMulticastHandler(conn, config.ports), maxMulticastBytes},
		{"/deadletters", operators.only(operations.operate), maxOperationBytes},
		{"/publish", operators.only(operations.publish), maxPublishBytes},
	} {
		if err := conn.Handle(http.MethodPost, each.path, secured(each.handler), bus.Undocumented(),
			bus.MaxBodyBytes(each.maxBytes)); err != nil {
			return fmt.Errorf("portal: %w", err)
		}
	}
	return nil
}

// secured sets the security headers for everything that the portal serves: browsers load nothing from elsewhere, send
// nothing there, show the page in no frame, and do not guess media types.
func secured(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy",
			"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		handler.ServeHTTP(w, r)
	})
}

// documentHandler serves the aggregated document, with what the caller may see.
type documentHandler struct {
	conn     *bus.Conn
	catalogs *catalogs
}

// ServeHTTP serves the document as JSON, in OpenAPI 3.0.0 or 3.1.
func (h *documentHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := h.document(r)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	serveDocument(w, r, body)
}

func (h *documentHandler) document(r *http.Request) ([]byte, error) {
	is31, err := openapi31.IsWanted(r.URL.Query())
	if err != nil {
		return nil, bus.Errorf(http.StatusBadRequest, "%w", err)
	}
	catalog := h.catalogs.Of(bus.ActorOf(r.Context()))
	current, err := catalog.read(r.Context())
	if err != nil {
		return nil, err
	}
	to := current.readerOf(r, h.conn.BaseURL(r))
	if is31 {
		return catalog.newerJSON(r.Context(), current, to)
	}
	return current.document.json(to), nil
}

// clientHandler serves a TypeScript client of what the caller may call, and of the events that it may see.
type clientHandler struct {
	conn     *bus.Conn
	catalogs *catalogs
}

// ServeHTTP serves the client as text, which browsers show. The query may have int64, a [tsclient.Int64].
func (h *clientHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source, err := h.generate(r)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `inline; filename="bus.ts"`)
	serveDocument(w, r, source)
}

func (h *clientHandler) generate(r *http.Request) ([]byte, error) {
	said := r.URL.Query()["int64"]
	if len(said) > 1 {
		return nil, bus.Errorf(http.StatusBadRequest, "int64 is given %d times: give it once", len(said))
	}
	int64Type, err := tsclient.ParseInt64(strings.Join(said, ""))
	if err != nil {
		return nil, bus.Errorf(http.StatusBadRequest, "%w", err)
	}
	catalog := h.catalogs.Of(bus.ActorOf(r.Context()))
	current, err := catalog.read(r.Context())
	if err != nil {
		return nil, err
	}
	events, err := catalog.events.Read(r.Context())
	if err != nil {
		return nil, err
	}
	info := openapi.Info{LeftOut: current.leftOut}
	return tsclient.Generate(openapi.Merge(info, h.conn.BaseURL(r), current.members),
		asyncapi.Merge(asyncapi.Info{LeftOut: events.leftOut}, events.members), tsclient.Options{Int64: int64Type})
}

// readJSON reads the body of a request of the page, one JSON object with these members.
func readJSON(r *http.Request, into any, members string) error {
	if kind := outside.MediaType(r.Header); kind != "application/json" {
		return bus.Errorf(http.StatusUnsupportedMediaType, "the content type is %.80q; send application/json", kind)
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil && decoder.More() {
		err = errors.New("there is more after it")
	}
	if failed, ok := errors.AsType[*bus.Error](err); ok { // of the body, such as 413
		return failed
	}
	if err != nil {
		return bus.Errorf(http.StatusBadRequest, "the body is not one JSON object with %s: %w", members, err)
	}
	return nil
}

// writeJSON serves a value as [serveJSON] does.
func writeJSON(w http.ResponseWriter, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		serveJSON(w, text)
	}
	return err
}

// instanceList lists the running instances.
type instanceList struct {
	Plane string                `json:"plane"` // the first token of every subject
	Hosts map[string][]instance `json:"hosts"`
}

// describeInstances lists the instances of the hosts that the caller may see, at least in part, and no others.
func (c *catalog) describeInstances(found *presence, members []openapi.Member) ([]byte, error) {
	list := instanceList{Plane: c.conn.Plane(), Hosts: make(map[string][]instance)}
	for _, member := range members {
		if len(member.Document.Paths) > 0 {
			list.Hosts[member.Host] = found.instances[member.Host]
		}
	}
	return json.Marshal(list)
}

// instancesHandler serves the list of running instances that the caller may see. The page offers them as targets of a
// call.
type instancesHandler struct{ catalogs *catalogs }

// ServeHTTP serves an [instanceList] as JSON. It is as recent as the document.
func (h *instancesHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	catalog := h.catalogs.Of(bus.ActorOf(r.Context()))
	current, err := catalog.read(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	serveDocument(w, r, current.instances)
}

// serveJSON serves JSON that must not be cached: the bus changes, and each caller sees something else.
func serveJSON(w http.ResponseWriter, text []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "private, no-store")
	_, _ = w.Write(text) // the ResponseWriter of a bus handler does not fail here
}

// pageFiles holds the files of the page.
//
//go:embed page
var pageFiles embed.FS

// pageFile is one file of the page.
type pageFile struct {
	content     []byte
	contentType string
	tag         string // entity tag of the content, so that a browser loads it only once; weak, so that it is compressed
}

// pageHandlers returns a handler for each file of the page, by its path.
func pageHandlers() (map[string]http.Handler, error) {
	handlers := make(map[string]http.Handler)
	entries, err := fs.ReadDir(pageFiles, "page")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		file, err := readPageFile(entry.Name())
		if err != nil {
			return nil, err
		}
		if entry.Name() == "index.html" {
			handlers["/"] = file
		} else {
			handlers["/"+entry.Name()] = file
		}
	}
	return handlers, nil
}

func readPageFile(name string) (*pageFile, error) {
	content, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		return nil, err
	}
	contentType, err := contentTypeOf(name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	return &pageFile{content, contentType, `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}, nil
}

// contentTypeOf returns the media type by file extension, without asking the operating system, whose table may differ.
func contentTypeOf(name string) (string, error) {
	switch extension := path.Ext(name); extension {
	case ".html":
		return "text/html; charset=utf-8", nil
	case ".css":
		return "text/css; charset=utf-8", nil
	case ".js":
		return "text/javascript; charset=utf-8", nil
	case ".svg":
		return "image/svg+xml", nil
	default:
		return "", fmt.Errorf("page/%s: no content type is known for %s", name, extension)
	}
}

// ServeHTTP serves the file. A browser asks each time whether it has changed.
func (f *pageFile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", f.contentType)
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", f.tag)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(f.content) // the ResponseWriter of a bus handler does not fail here
}
