package bus

import (
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// Serve registers the exported methods of impl as endpoints of conn's host. They are live when it returns. If it
// returns an error, no endpoint is live, and the error lists all problems with their remedies. It waits for the broker
// for at most 5 s.
//
// A method is a function, Name([ctx context.Context,] arguments…) ([results…] [, error]), or a web endpoint, Name(w
// http.ResponseWriter, r *http.Request) [error]. Functions are served as RPC, /name under GET and POST, or as REST if
// they are named like Create, Read, Update, Delete, List and use a magic argument (httpRequestBody, httpResponseBody,
// httpStatusCode). A function whose only result is an iter.Seq2[T, error] streams, as RPC. With an interface as type parameter, Serve[calculator.API](conn, impl), only its methods are served.
//
// Every exported method counts, including those promoted from embedded types. Methods of a struct that are usually for its own program, such as Close,
// Shutdown, Reset or String, are an error unless [ExcludeMethods] leaves them out, or [Method] or an interface T names them. The names of arguments and results must be
// known in production, too: a binary built with -ldflags=-s does not contain them unless its source is embedded (see
// [SourceFS]), and Serve then returns an error.
//
// Handlers run concurrently, each on a separate goroutine, so impl must be safe for concurrent use.
func Serve[T any](conn *Conn, impl T, options ...ServeOption) error {
	if conn == nil {
		return fmt.Errorf("%T cannot be served without a connection", impl)
	}
	return conn.serve(interfaceOf[T](), impl, newServiceConfig(options))
}

// interfaceOf returns T if it is an interface, whose methods are to be served; nil stands for all methods of the value.
func interfaceOf[T any]() reflect.Type {
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Interface && t.NumMethod() > 0 {
		return t
	}
	return nil
}

func (c *Conn) serve(as reflect.Type, impl any, config *serviceConfig) error {
	config.strict = config.strict || c.config.strict
	endpoints, service, err := plan(as, impl, config)
	if err != nil {
		return fmt.Errorf("serve %T on %s: %w", impl, c.host, err)
	}
	if err := c.register(endpoints); err != nil {
		return fmt.Errorf("serve %T on %s: %w", impl, c.host, err)
	}
	c.documents.describe(service.Doc, endpoints)
	for _, warning := range service.Warnings {
		c.logger.Warn().Str("service", service.Name).Msg(warning)
	}
	return nil
}

// plan finds the methods of impl and makes their endpoints.
func plan(as reflect.Type, impl any, config *serviceConfig) (endpoints []*endpoint, service *reflectapi.Service, err error) {
	if isHandler(as, impl) {
		return nil, nil, errors.New("an http.Handler is no service, and would be at /serve-http alone: use Conn.Handle")
	}
	if service, err = describe(as, impl, config); err != nil {
		return nil, nil, err
	}
	if err := checkOwnMethods(as, service, config); err != nil {
		return nil, nil, err
	}
	mapped, err := restmap.Map(service, config.routing())
	if err != nil {
		return nil, nil, err
	}
	endpoints = endpointsOf(mapped, service, config)
	return endpoints, service, checkClients(service, endpoints)
}

// describe finds the methods of impl, or only those of the interface as.
func describe(as reflect.Type, impl any, config *serviceConfig) (*reflectapi.Service, error) {
	if config.err != nil {
		return nil, config.err
	}
	if as != nil {
		return reflectapi.DescribeAs(as, impl, config.describe...)
	}
	return reflectapi.Describe(impl, config.describe...)
}

// endpointsOf returns the endpoints of mapped methods.
func endpointsOf(mapped []*restmap.Endpoint, service *reflectapi.Service, config *serviceConfig) (endpoints []*endpoint) {
	for _, m := range mapped {
		settings := config.method(m.Method.Name).endpointConfig
		if port := portOf(service, m.Method); port != 0 && !settings.portSet {
			settings.port = port
		}
		planned := newEndpoint(settings, service.Name+"."+m.Name, m)
		switch {
		case m.Style == restmap.Web:
			planned.run = runWeb(planned, m.Method.ServeHTTP)
		case m.Element() != nil:
			planned.run = runStream(planned)
		default:
			planned.run = runFunction(planned)
		}
		endpoints = append(endpoints, planned)
	}
	return endpoints
}

// Handle serves an http.Handler under a method and a path of conn's host: "GET", "/files/{path+}". The method "" or "*"
// stands for any. {name} stands for one segment of the path, {name+} at the end for the rest; the handler gets their
// values from r.PathValue. A path that ends in a slash matches only itself, unlike in [http.ServeMux]: write
// "/files/{path+}" for everything below. The request's URL has the whole path. The endpoint is live when Handle
// returns, which waits for the broker for at most 5 s. It returns an error if the method, the path or an option is
// invalid.
//
// [RequireClaims] guards a route, not the resource behind its handler: if several routes lead to the same resource,
// each needs it. A wider path that answers without these claims under other methods, * /files/{path+} beside GET
// /files/private/{path+}, is logged as a warning. No path is cleaned before it reaches the handler, but a path whose
// clean form would match a route of this connection with other claims, /files//private/x, is answered 404.
//
// A request body in memory has at most 32 MiB, unless [MaxBodyBytes] sets another limit; one that comes as a stream is read as it
// comes. The response is sent when the handler returns. If the handler flushes it, writes more than 1 MiB or sets trailers, it goes out
// as a stream, unless the caller takes none, as in a multicast. From then on the request body cannot be read. There is no http.Hijacker,
// and informational statuses (1xx) are ignored. All this also holds for the web endpoints of [Serve].
//
// The request is as from a server of net/http. Host is the called host, with the port unless that is 443, "web.example"; the ingress has its
// own name in X-Forwarded-Host. RemoteAddr is the address from which the ingress was called, "203.0.113.7:0", else the calling instance,
// "id.host:0". TLS is nil only if the ingress was called by plain HTTP; else its HandshakeComplete is set, and nothing else.
func (c *Conn) Handle(method, path string, handler http.Handler, options ...HandleOption) error {
	if function, ok := handler.(http.HandlerFunc); handler == nil || ok && function == nil {
		return fmt.Errorf("handle %s %s on %s: the handler is nil", method, path, c.host)
	}
	mapped, err := restmap.Handler(method, path)
	if err != nil {
		return fmt.Errorf("handle on %s: %w", c.host, err)
	}
	settings := newEndpointConfig()
	for i, option := range options {
		if option == nil {
			return fmt.Errorf("handle %s %s on %s: %w", method, path, c.host, noOption(i))
		}
		option.applyToEndpoint(&settings)
	}
	planned := newEndpoint(settings, mapped.Name, mapped)
	planned.run = runWeb(planned, plainHandler(handler))
	if err := c.register([]*endpoint{planned}); err != nil {
		return fmt.Errorf("handle %s %s on %s: %w", method, path, c.host, err)
	}
	if warning := unmeantPath(method, path, handler); warning != "" && !c.registry.servesBelow(planned.Port, path) {
		c.logger.Warn().Msg(warning)
	}
	return nil
}

// register makes endpoints live, all or none, and announces them.
func (c *Conn) register(endpoints []*endpoint) error {
	c.registry.registering.Lock()
	defer c.registry.registering.Unlock()
	if c.isClosing() {
		return ErrClosed
	}
	if err := validEndpoints(c.plane, c.host, endpoints); err != nil {
		return err
	}
	if !c.registry.serving {
		directory, err := directoryEndpoints()
		if err != nil {
			return err
		}
		endpoints = append(endpoints, directory...)
	}
	documents, err := c.documents.missing(c, endpoints)
	if err != nil {
		return err
	}
	if taken := c.registry.takes(documents); taken != nil {
		return fmt.Errorf("its document is served at GET %s on port %d, where this connection serves another handler: add bus.Undocumented()",
			documentPath, taken.Port)
	}
	endpoints = append(endpoints, documents...)
	ctx, cancel := context.WithTimeout(c.life.base, natsconn.DefaultTimeout)
	defer cancel()
	if err := c.install(ctx, c.server.Router, endpoints, c.subscriptionsOf(endpoints), nil); err != nil {
		return err
	}
	c.registry.add(endpoints)
	c.documents.add(endpoints)
	c.warnOfDisplaced(endpoints)
	c.warnOfOpenMethods(endpoints)
	if !c.registry.serving {
		c.registry.serving = true
		if !c.config.unlisted {
			c.shared.services.Join(ctx, microService{c})
		}
	}
	c.announce(ctx, server.HelloPath, nil)
	c.differing.schedule(c.compareDocuments)
	return nil
}

// registry holds what a connection serves, except for the framework itself.
type registry struct {
	registering sync.Mutex // one registration at a time; protects serving, listing and publishing
	serving     bool       // something is registered
	listing     bool       // the events are listed
	publishing  bool       // events can be published by hand

	mu        sync.Mutex // protects endpoints
	endpoints []*endpoint
}

// add adds the endpoints that Traffic reports.
func (r *registry) add(endpoints []*endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range endpoints {
		if e.served != nil {
			r.endpoints = append(r.endpoints, e)
		}
	}
}

// takes returns the first document whose place a registered endpoint has, as that of the portal does; nil if none.
func (r *registry) takes(documents []*endpoint) *endpoint {
	for _, e := range r.all() {
		for _, document := range documents {
			if e.Port == document.Port && e.Path == document.Path {
				return document
			}
		}
	}
	return nil
}

// servesBelow reports whether an endpoint serves everything below a path.
func (r *registry) servesBelow(port int, path string) bool {
	return slices.ContainsFunc(r.all(), func(e *endpoint) bool {
		above, _, _ := strings.Cut(e.Path, "{")
		return e.Port == port && strings.HasSuffix(e.Path, "+}") && strings.HasPrefix(path, above)
	})
}

// pathLike returns the path that resembles another one, "/products/{id}" for "/product/5"; "" if there is none. It tells only of what the
// documents show without a token.
func (r *registry) pathLike(port int, path string) string {
	if len(path) > maxPathCompared {
		return ""
	}
	given := strings.Split(path, "/")
	shown := make(map[string]string) // by what they look like
	for _, e := range r.all() {
		if e.Port != port || e.hidden || e.secured || e.source != "" {
			continue
		}
		segments := strings.Split(e.Path, "/")
		for i, segment := range segments {
			if strings.HasPrefix(segment, "{") && i < len(given) {
				segments[i] = given[i]
			}
		}
		shown[strings.Join(segments, "/")] = e.Path
	}
	return shown[similar.Name(path, slices.Sorted(maps.Keys(shown)))]
}

// maxPathCompared is the length of a path, in bytes, up to which others are compared with it.
const maxPathCompared = 100

// all returns the registered endpoints, sorted.
func (r *registry) all() []*endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(slices.Values(r.endpoints), func(a, b *endpoint) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
}

// validEndpoints returns all errors of the endpoints of a host, joined.
func validEndpoints(plane, host string, endpoints []*endpoint) error {
	var errs []error
	for _, e := range endpoints {
		for _, err := range e.check(plane, host) {
			errs = append(errs, fmt.Errorf("%s: %w", e.Name, err))
		}
	}
	return errors.Join(errs...)
}

// check returns the errors of an endpoint. It also compiles the claims.
func (e *endpoint) check(plane, host string) (errs []error) {
	if err := subject.CheckPort(e.Port); err != nil {
		errs = append(errs, fmt.Errorf("%w; see bus.Port", err))
	}
	if e.Port == subject.ControlPort {
		errs = append(errs, fmt.Errorf("port %d is reserved for the framework: use another port, such as 444 for internal endpoints", subject.ControlPort))
	}
	if e.Port == subject.EventPort && e.source == "" {
		errs = append(errs, fmt.Errorf("port %d is reserved for events: use another port, or bus.Subscribe", subject.EventPort))
	}
	if e.mapped.Method != nil && e.source == "" {
		if err := e.mapped.Method.Declared.CheckScope(reflectapi.OfCall | reflectapi.OfWebMethod); err != nil {
			errs = append(errs, fmt.Errorf("its interface %w", err))
		}
	}
	for _, route := range e.mapped.Routes {
		if route.Method == http.MethodHead {
			errs = append(errs, errors.New("HEAD cannot be served by itself: serve GET, which also answers HEAD"))
		}
		if !e.hidden && !openapi.Lists(route.Method) {
			errs = append(errs, fmt.Errorf("OpenAPI has no HTTP method %s: if it is not misspelt, leave the endpoint out of the documents with bus.Undocumented", route.Method))
		}
		if to := e.subject(plane, cmp.Or(e.source, host), route); len(to) > subject.MaxLength {
			errs = append(errs, fmt.Errorf("its path makes a subject of %d bytes, and the limit is %d: shorten the path", len(to), subject.MaxLength))
		}
	}
	if err := cmp.Or(e.err, e.compileClaims()); err != nil {
		errs = append(errs, err)
	}
	if e.bodyLimit < 0 || e.timeBudget < 0 {
		errs = append(errs, errors.New("its body limit or time budget is negative; see bus.MaxBodyBytes and bus.TimeBudget"))
	}
	if err := checkText("bus.Description", e.description); err != nil {
		errs = append(errs, err)
	}
	if err := e.checkWeb(); err != nil {
		errs = append(errs, err)
	}
	if err := checkInterceptors(e.interceptors, "bus.Intercept"); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// chain composes the interceptors of each endpoint.
func (c *Conn) chain(endpoints []*endpoint) (err error) {
	for _, e := range endpoints {
		if e.Port == subject.ControlPort { // all connections share these endpoints
			continue
		}
		e.route()
		e.served = new(metrics.Family)
		// What is logged with slog has the context of the request, and is written after the answer.
		e.unseen = c.config.slog == nil && e.mapped.Style != restmap.Web && len(c.config.observers)+len(c.config.interceptors)+len(e.interceptors) == 0
		if e.chain, err = c.serverChain(e); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}

// install puts endpoints into a router, which holds all their state, and only then subscribes. When it returns the broker knows of them.
// after, if it is not nil, runs then, and takes them back if it fails.
func (c *Conn) install(ctx context.Context, into *server.Router, endpoints []*endpoint, subscriptions []*natsconn.Subscription, after func() error) error {
	if err := c.chain(endpoints); err != nil {
		return err
	}
	if err := into.Add(routedOf(endpoints)); err != nil {
		return err
	}
	c.noteRequired(endpoints)
	err := c.session.Attempt(ctx, func() error {
		for _, each := range subscriptions {
			if err := c.session.Subscribe(each); err != nil {
				return err
			}
		}
		return nil
	}, after)
	if err != nil {
		into.Remove(routedOf(endpoints))
	}
	return c.closedMeanwhile(err)
}

// closedMeanwhile adds ErrClosed to the error of a registration if the connection is closing, the most likely cause.
func (c *Conn) closedMeanwhile(err error) error {
	if err == nil || errors.Is(err, ErrClosed) || !c.isClosing() {
		return err
	}
	return fmt.Errorf("%w: %w", ErrClosed, err)
}

func (e *endpoint) subject(plane, host string, route restmap.Route) string {
	return subject.Subscription(plane, strconv.Itoa(e.Port), host, route.Method, server.Tokens(route.Pattern)...)
}

// subscriptionsOf returns what brings the requests for endpoints.
func (c *Conn) subscriptionsOf(endpoints []*endpoint) (subscriptions []*natsconn.Subscription) {
	for _, e := range endpoints {
		e.route()
		if e.addressed {
			continue
		}
		for i := range e.mapped.Routes {
			route := &e.mapped.Routes[i]
			subscriptions = append(subscriptions, &natsconn.Subscription{
				Subject: e.subject(c.plane, e.hostOf(c), *route), Queue: e.brokerQueue(c), For: e.purpose(),
				Receive: c.server.ReceiverOf(e.routed, route),
			})
		}
	}
	return subscriptions
}

// warnOfOpenMethods warns of web endpoints that ask for claims under some methods, while a wider pattern answers the same paths
// without these claims under others. One of the two was added. A wider GET beside claims on writing alone is no reason to warn.
func (c *Conn) warnOfOpenMethods(added []*endpoint) {
	all := c.registry.all() // the added ones are among them
	for _, e := range all {
		if !e.secured || e.mapped.Style != restmap.Web {
			continue
		}
		isNew := slices.Contains(added, e)
		if !isNew && !slices.ContainsFunc(added, func(other *endpoint) bool { return other.mayCover(e) }) {
			continue // searching takes longer, and there may be thousands
		}
		for found, methods := range c.server.Router.OpenMethods(e.routed) {
			wider, _ := found.Value.(*endpoint)
			if isNew || slices.Contains(added, wider) {
				c.warnThatOpen(e, wider, methods)
			}
		}
	}
}

// mayCover reports whether the pattern of a web endpoint has parameters, and begins like that of another.
func (e *endpoint) mayCover(other *endpoint) bool {
	literal, _, parameters := strings.Cut(e.Path, "{")
	return parameters && e.mapped.Style == restmap.Web && e.Port == other.Port && strings.HasPrefix(other.Path, literal)
}

func (c *Conn) warnThatOpen(e, wider *endpoint, methods []string) {
	c.logger.Warn().Str("endpoint", e.Name).Str("path", e.Path).
		Msgf("the claims of %s do not guard its paths under %s, which %s answers without them: ask for the same claims there, or serve %s under the method *",
			e.Name, strings.Join(methods, ", "), wider.Name, e.Path)
}

// checkOwnMethods returns an error for each method that a struct usually has for its own program, and that callers could call. There is none for a
// service of an interface, or if an option names the method.
func checkOwnMethods(as reflect.Type, service *reflectapi.Service, config *serviceConfig) error {
	if as != nil {
		return nil
	}
	var errs []error
	for _, method := range service.Methods {
		if _, named := config.methods[method.Name]; named || !isLifecycle(method) && !isOwnBusiness(service.Type, method.Name) {
			continue
		}
		errs = append(errs, fmt.Errorf("method %s would be served to callers: leave it out with bus.ExcludeMethods(%q), or add bus.Method(%q) if that is intended",
			method.Name, method.Name, method.Name))
	}
	return errors.Join(errs...)
}

// isLifecycle reports whether a method begins or ends what a struct does for its own program, and takes and tells nothing else.
func isLifecycle(method *reflectapi.Method) bool {
	switch method.Name {
	case "Close", "Shutdown", "Stop", "Start", "Run", "Init", "Reset", "Lock", "Unlock":
		return method.Kind == reflectapi.Function && len(method.Args)+len(method.Results) == 0
	default:
		return false
	}
}

// isOwnBusiness reports whether a method belongs to an interface that is unrelated to the purpose of a service.
func isOwnBusiness(t reflect.Type, method string) bool {
	for _, each := range []reflect.Type{
		reflect.TypeFor[http.Handler](),
		reflect.TypeFor[error](),
		reflect.TypeFor[fmt.Stringer](),
		reflect.TypeFor[fmt.GoStringer](),
		reflect.TypeFor[json.Marshaler](),
		reflect.TypeFor[json.Unmarshaler](),
		reflect.TypeFor[encoding.TextMarshaler](),
		reflect.TypeFor[encoding.TextUnmarshaler](),
		reflect.TypeFor[encoding.BinaryMarshaler](),
		reflect.TypeFor[encoding.BinaryUnmarshaler](),
	} {
		if each.Method(0).Name == method && t.Implements(each) {
			return true
		}
	}
	return false
}

// isHandler reports whether impl is a handler of another package, such as a router: it has no methods to serve.
func isHandler(as reflect.Type, impl any) bool {
	_, isMux := impl.(*http.ServeMux)
	return isMux || as == reflect.TypeFor[http.Handler]()
}

// unmeantPath returns a warning for a path that seems meant for a whole application, as with [http.ServeMux]; "" for
// others.
func unmeantPath(method, path string, handler http.Handler) string {
	_, isMux := handler.(*http.ServeMux)
	if !strings.HasSuffix(path, "/") || !isMux && method != "" && method != restmap.AnyMethod {
		return ""
	}
	return fmt.Sprintf("only %s itself is served, and nothing below it: write %s{path+} for that", path, path)
}
