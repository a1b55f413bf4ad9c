package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap"
)

// Serve registers the exported methods of impl as endpoints of conn's host. They are live when it returns. If it
// returns an error, no endpoint is live, and the error lists all problems with their remedies. It waits for the broker
// for at most 5 s.
//
// A method is a function, Name([ctx context.Context,] arguments…) ([results…] [, error]), or a web endpoint, Name(w
// http.ResponseWriter, r *http.Request) [error]. Functions are served as RPC, /name under GET and POST, or as REST if
// they are named like Create, Read, Update, Delete, List and use a magic argument (httpRequestBody, httpResponseBody,
// httpStatusCode). A function whose only result is an iter.Seq2[T, error] streams, as RPC. With an interface as type
// parameter, Serve[calculator.API](conn, impl), only its methods are served.
//
// Every exported method counts, including those promoted from embedded types. Methods of a struct that are usually for
// its own program, such as Close, Shutdown, Reset or String, are an error unless [ExcludeMethods] leaves them out, or
// [Method] or an interface T names them. The names of arguments and results must be known in production, too: a binary
// built with -ldflags=-s does not contain them unless its source is embedded (see [SourceFS]), and Serve then returns
// an error.
//
// Handlers run concurrently, each on a separate goroutine, so impl must be safe for concurrent use. [Conn.Withdraw]
// takes it back.
func Serve[T any](conn *Conn, impl T, options ...ServeOption) error {
	if conn == nil {
		return fmt.Errorf("%T cannot be served without a connection", impl)
	}
	return conn.serve(feature.InterfaceOf[T](), impl, newServiceConfig(options))
}

func (c *Conn) serve(as reflect.Type, impl any, config *serviceConfig) error {
	config.strict = config.strict || c.config.strict
	endpoints, service, err := plan(as, impl, config)
	if err != nil {
		return fmt.Errorf("serve %T on %s: %w", impl, c.host, err)
	}
	withdrawable(endpoints, impl)
	if err := c.register(endpoints); err != nil {
		return fmt.Errorf("serve %T on %s: %w", impl, c.host, err)
	}
	c.documents.describe(service.Doc, endpoints)
	for _, warning := range service.Warnings {
		c.logger.Warn().Str("service", service.Name).Msg(warning)
	}
	return nil
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
// A request body in memory has at most 32 MiB, unless [MaxBodyBytes] sets another limit; one that comes as a stream is
// read as it comes. The response is sent when the handler returns. If the handler flushes it, writes more than 1 MiB or
// sets trailers, it goes out as a stream, unless the caller takes none, as in a multicast. From then on the request
// body cannot be read. There is no http.Hijacker, and informational statuses (1xx) are ignored. All this also holds for
// the web endpoints of [Serve].
//
// The request is as from a server of net/http. Host is the called host, with the port unless that is 443,
// "web.example"; the ingress has its own name in X-Forwarded-Host. RemoteAddr is the address from which the ingress was
// called, "203.0.113.7:0", else the calling instance, "id.host:0". TLS is nil only if the ingress was called by plain
// HTTP; else its HandshakeComplete is set, and nothing else.
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
			return fmt.Errorf("handle %s %s on %s: %w", method, path, c.host, feature.NoOption(i))
		}
		option.applyToEndpoint(&settings)
	}
	planned := newEndpoint(settings, mapped.Name, mapped)
	planned.run = runWeb(planned, plainHandler(handler))
	withdrawable([]*endpoint{planned}, handler)
	if err := c.register([]*endpoint{planned}); err != nil {
		return fmt.Errorf("handle %s %s on %s: %w", method, path, c.host, err)
	}
	if warning := unmeantPath(method, path, handler); warning != "" {
		timer := time.AfterFunc(compareAfter, func() { // what is below may be registered next
			if !c.registry.servesBelow(planned.Port, path) {
				c.log(c.logger.Warn(), warning)
			}
		})
		context.AfterFunc(c.life.base, func() { timer.Stop() })
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
	if document := c.registry.takes(documents); document != nil {
		return fmt.Errorf("its document is served at GET %s on port %d, where this connection serves another handler: "+
			"add bus.Undocumented()",
			documentPath, document.Port)
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
	c.others.differing.schedule(c.compareDocuments)
	return nil
}

// withdrawable notes what endpoints are registered with, and are withdrawn by.
func withdrawable(endpoints []*endpoint, impl any) {
	group := new(server.Group)
	for _, e := range endpoints {
		e.impl, e.group = impl, group
	}
}

// chain composes the interceptors of each endpoint.
func (c *Conn) chain(endpoints []*endpoint) (err error) {
	for _, e := range endpoints {
		if e.Port == subject.ControlPort { // all connections share these endpoints
			continue
		}
		e.route()
		e.served = c.registry.countsOf(e)
		// What is logged with slog has the context of the request, and is written after the answer.
		e.unseen = c.config.slog == nil && e.mapped.Style != restmap.Web &&
			len(c.config.observers)+len(c.config.interceptors)+len(e.interceptors) == 0
		if e.chain, err = c.serverChain(e); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}

// install puts endpoints into a router, which holds all their state, and only then subscribes. When it returns the
// broker knows of them. after, if it is not nil, runs then, and takes them back if it fails.
func (c *Conn) install(ctx context.Context, into *server.Router, endpoints []*endpoint,
	subscriptions []*natsconn.Subscription, after func() error) error {
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
				Receive: c.server.ReceiverOf(e.routed, route), Always: e.routed.Framework,
			})
		}
	}
	return subscriptions
}

// warnOfOpenMethods warns of web endpoints that ask for claims under some methods, while a wider pattern answers the
// same paths without these claims under others. One of the two was added. A wider GET beside claims on writing alone is
// no reason to warn.
func (c *Conn) warnOfOpenMethods(added []*endpoint) {
	all := c.registry.all() // the added ones are among them
	for _, e := range all {
		if !e.isGuarded() || e.mapped.Style != restmap.Web {
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
		Msgf("the claims or callers of %s do not guard its paths under %s, which %s answers without them: "+
			"ask for the same there, or serve %s under the method *",
			e.Name, strings.Join(methods, ", "), wider.Name, e.Path)
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
