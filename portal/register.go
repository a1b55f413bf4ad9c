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
	"path"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/operators"
	"github.com/busline/busline/portal/internal/callfeed"
	"github.com/busline/busline/portal/internal/login"
	"github.com/busline/busline/portal/internal/messages"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/portal/internal/tracing"
	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi31"
	"github.com/busline/busline/restmap/tsclient"
)

// portalConfig is the configuration of the portal: defaults, then options.
type portalConfig struct {
	ports     []int
	operators *string // the rule of those who operate events, "" for every caller; nil: for none
	login     login.Config
	traceLink tracing.Link
	notices   func() []string // nil without WithNotices
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

// WithLogin lets users of the page log in at an OpenID provider, beside a token that is pasted: with the authorization
// code flow and PKCE, as a public client, which has no secret. The issuer is an https address, or one of http on a
// loopback address, that serves /.well-known/openid-configuration to pages of other origins; the provider redirects to
// the address of the page, /portal/. The page calls with the ID token, so services have to trust the issuer, and the
// client ID as audience. Default: the scope openid; BUS_LOGIN_ISSUER and BUS_LOGIN_CLIENT_ID, and without these no
// login.
func WithLogin(issuer, clientID string, scopes ...string) RegisterOption {
	return loginOption{Issuer: issuer, ClientID: clientID, Scopes: slices.Clone(scopes)}
}

type loginOption login.Config

func (o loginOption) applyToPortal(c *portalConfig) { c.login = login.Config(o) }

// WithTraceLink has the page link each trace to another program that shows it. The address is one of https or http,
// with {traceId} in place of the id: "https://grafana.example/trace/{traceId}". Default: BUS_TRACE_LINK; else no link.
func WithTraceLink(address string) RegisterOption { return traceLinkOption(address) }

type traceLinkOption tracing.Link

func (o traceLinkOption) applyToPortal(c *portalConfig) { c.traceLink = tracing.Link(o) }

// WithOperators says which callers may see traces and calls, and operate events on the portal's pages: publish by hand,
// read and deliver again what is stored, and handle dead letters. They see the arguments of all events. The rule is an
// expression on claims as in [bus.RequireClaims]; "" allows it to everyone who reaches the portal. Default:
// BUS_OPERATORS, where * stands for everyone; else it is allowed to no caller.
func WithOperators(rule string) RegisterOption { return operatorsOption(rule) }

type operatorsOption string

func (o operatorsOption) applyToPortal(c *portalConfig) { c.operators = (*string)(&o) }

// WithNotices has the page show texts above all else, such as the errors of builds on a developer's machine. notices
// returns them, nil for none. It is called every 2 s while the page is open, and has to be safe for concurrent use.
// Default: none.
func WithNotices(notices func() []string) RegisterOption { return noticesOption(notices) }

type noticesOption func() []string

func (o noticesOption) applyToPortal(c *portalConfig) { c.notices = o }

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
// describes; /chart.json?service=… has the last hour of a service, a point for each 10 s in which readers have asked;
// /events.json says how full the logs of stored events are, limited to the events in /asyncapi.json; see
// docs/guides/portal.md. Callers that [WithOperators] allows to get dead letters from /deadletters.json, POST
// /deadletters redelivers or deletes them, and POST /publish publishes an event. They read stored events in
// /messages.json, and deliver them again with POST /replay; /trace.json?id=… has the calls of a
// trace, as trace.Gather of bus/trace returns it, and /calls streams the calls of all instances as they end.
//
// All of it is live when Register returns. After an error close the connection.
func Register(conn *bus.Conn, options ...RegisterOption) error {
	if conn == nil {
		return errors.New("the portal cannot be served without a connection")
	}
	if conn.Host() != outside.HostPortal {
		return fmt.Errorf("portal on %s: connect as %q, the host that / redirects to", conn.Host(), outside.HostPortal)
	}
	config := &portalConfig{ports: outside.DefaultPorts(), login: login.FromEnvironment(),
		traceLink: tracing.LinkFromEnvironment(), operators: operators.FromEnvironment(), now: time.Now,
		timeouts: defaultTimeouts()}
	for i, option := range options {
		if option == nil {
			return fmt.Errorf("portal: %w", outside.ErrNilOption(i))
		}
		option.applyToPortal(config)
	}
	if err := outside.CheckPorts("portal.WithPorts", config.ports); err != nil {
		return err
	}
	if err := config.login.Complete(); err != nil {
		return err
	}
	if err := config.traceLink.Check(); err != nil {
		return err
	}
	mayOperate, err := operators.New("portal.WithOperators", config.operators)
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
	for path, value := range map[string]any{"/login.json": config.login,
		"/tracelink.json": map[string]any{"template": config.traceLink}} {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		handlers[path] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveDocument(w, r, text) })
	}
	handlers["/notices.json"] = noticesHandler(config.notices)
	handlers["/instances.json"] = &instancesHandler{catalogs: all}
	traffic := newLive(conn, all, config)
	handlers["/live.json"], handlers["/chart.json"] = traffic, chartHandler{traffic}
	handlers["/events.json"] = newEventFigures(conn, all, mayOperate, config)
	operations := &eventOperations{conn}
	handlers["/deadletters.json"] = onlyOperators(mayOperate, toOperate, operations.list)
	handlers["/messages.json"] = onlyOperators(mayOperate, toOperate, messages.List(conn))
	feed := &callfeed.Feed{Conn: conn, Discover: all.discovery.instances}
	handlers["/calls"] = onlyOperators(mayOperate, "follow calls", feed.Serve)
	handlers["/trace.json"] = onlyOperators(mayOperate, "see traces", tracing.Gather(conn))
	for path, handler := range handlers {
		if err := conn.Handle(http.MethodGet, path, secured(handler, config.login.Origin()), bus.Undocumented()); err != nil {
			return fmt.Errorf("portal: %w", err)
		}
	}
	for _, each := range []struct {
		path     string
		handler  http.Handler
		maxBytes int
	}{
		{"/multicast", newMulticastHandler(conn, config.ports), maxMulticastBytes},
		{"/deadletters", onlyOperators(mayOperate, toOperate, operations.operate), maxOperationBytes},
		{"/replay", onlyOperators(mayOperate, toOperate, messages.DeliverAgain(conn)), maxOperationBytes},
		{"/publish", onlyOperators(mayOperate, toOperate, operations.publish), maxPublishBytes},
	} {
		if err := conn.Handle(http.MethodPost, each.path, secured(each.handler, config.login.Origin()), bus.Undocumented(),
			bus.MaxBodyBytes(each.maxBytes)); err != nil {
			return fmt.Errorf("portal: %w", err)
		}
	}
	return nil
}

// secured sets the security headers for everything that the portal serves: browsers load nothing from elsewhere, send
// nothing there but to the origin where users log in, if there is one, show the page in no frame, and do not guess
// media types.
func secured(handler http.Handler, origin string) http.Handler {
	policy := "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
	if origin != "" {
		policy += "; connect-src 'self' " + origin
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
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

// noticesHandler serves what WithNotices has to say: null if that is not given, so that the page does not ask again.
func noticesHandler(notices func() []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var texts []string
		if notices != nil {
			texts = append([]string{}, notices()...)
		}
		body, err := json.Marshal(map[string][]string{"notices": texts})
		if err != nil {
			bus.WriteError(w, r, err)
			return
		}
		serveDocument(w, r, body)
	})
}
