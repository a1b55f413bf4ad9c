package bus

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// This is what packages above this one build on, such as bus/events: see package feature.

//nolint:gochecknoinits // a package above cannot reach what is not exported
func init() { feature.Bus = framework{} }

// framework implements [feature.Framework].
type framework struct{}

func (framework) Conn(conn any) feature.Conn {
	c, _ := conn.(*Conn)
	return bridge{c}
}

func (framework) Handlers(port int) feature.Handlers {
	return handlers{newServiceConfig([]ServeOption{Port(port), Undocumented()})}
}

func (framework) Error(err error) error {
	if err == nil {
		return nil
	}
	return asError(err)
}

func (framework) Unsent(err error) error { return unsent(err) }

func (framework) NoConnection(address string) error { return noConnection(address) }

func (framework) Check(host string, endpoints []feature.Endpoint) error {
	own := ownEndpoints(endpoints)
	return errors.Join(validEndpoints(defaultPlane, host, own), checkRoutes(own))
}

func (framework) OpenAPI(service openapi.Service, endpoints []feature.Endpoint) ([]byte, error) {
	return writeDocument(service, ownEndpoints(endpoints))
}

func (framework) Twin(ctx context.Context, exchange any) feature.Twin {
	x, _ := exchange.(*Exchange)
	return newTwin(ctx, x)
}

func (framework) Recording(newRecorder func() (feature.Recorder, error)) any {
	return ConnectOption(func(c *connectConfig) {
		recorder, err := newRecorder()
		if err != nil {
			c.errs = append(c.errs, err)
		}
		c.recorder = recorder
	})
}

// bridge implements [feature.Conn].
type bridge struct{ conn *Conn }

func (b bridge) Extension(name string, open func() feature.Extension) feature.Extension {
	return b.conn.extensions.Get(name, open)
}

func (b bridge) Base() context.Context  { return b.conn.life.base }
func (b bridge) IsClosing() bool        { return b.conn.isClosing() }
func (b bridge) VerifiesTokens() bool   { return b.conn.tokens.verifier != nil }
func (b bridge) IsStrict() bool         { return b.conn.config.strict }
func (b bridge) Shared() *sync.Map      { return b.conn.config.shared }
func (b bridge) Description() string    { return b.conn.config.description }
func (b bridge) Broker() *natsconn.Conn { return b.conn.broker }
func (b bridge) Client() *client.Client { return b.conn.client }
func (b bridge) Server() *server.Server { return b.conn.server }

func (b bridge) Log(line *zerolog.Event, message string) { b.conn.log(line, message) }

func (b bridge) LimitedLine(level zerolog.Level, reason string) *zerolog.Event {
	return b.conn.limitedLine(level, reason)
}

func (b bridge) Drop(subject string, why error) { b.conn.drop(subject, why) }

func (bridge) Failure(response *wire.Response) *status.Error {
	failed := responseError(response)
	as := &status.Error{
		Status: failed.Status, Detail: failed.Detail, ID: failed.ID, MsgID: failed.MsgID,
		Executed: status.Executed(failed.Executed), Cause: failed,
	}
	if failed.Host != "" {
		as.Host = failed.Host + failed.Path
	}
	return as
}

func (b bridge) Destination(address string, arguments reflect.Type) (feature.Destination, error) {
	to, err := b.conn.newDestination(address, arguments)
	return destinationOfOneWay{to}, err
}

func (b bridge) FindDestination(address string, arguments reflect.Type) (feature.Destination, error) {
	to, err := b.conn.destinationOf(address, arguments)
	return destinationOfOneWay{to}, err
}

// destinationOfOneWay implements [feature.Destination].
type destinationOfOneWay struct{ *destination }

func (d destinationOfOneWay) Request(arguments any) (feature.Request, error) {
	call, err := d.request(arguments)
	if err != nil {
		return nil, err
	}
	return oneWay{call}, nil
}

func (d destinationOfOneWay) WithBody(body []byte) feature.Request { return oneWay{d.withBody(body)} }

// oneWay is a call without an answer. It implements [feature.Request].
type oneWay struct{ call *clientCall }

func (o oneWay) Outgoing() *client.Outgoing { return &o.call.Outgoing }

func (b bridge) OneWay(ctx context.Context, request feature.Request, send func(context.Context) error) error {
	one, _ := request.(oneWay)
	return b.conn.sendOneWay(ctx, one.call, send)
}

// sendOneWay sends a call without an answer: through the interceptors, whose last one calls send.
func (c *Conn) sendOneWay(ctx context.Context, call *clientCall, send func(context.Context) error) error {
	c.telemetry.calls.Add(1)
	x := call.exchange(c)
	x.Multicast = true
	call.carry = func(ctx context.Context) error {
		c.callees.note(call.Address, nil)
		return c.client.PublishEvent(ctx, &call.Outgoing, send)
	}
	err := c.plans.calling(ctx, x)
	switch {
	case err != nil:
		return x.failed(err)
	case x.answeredByInterceptor() && x.Response.Status >= http.StatusBadRequest:
		return unsent(responseError(x.Response))
	default:
		return nil
	}
}

func (b bridge) NoteCallee(address subject.Address) { b.conn.callees.note(address, nil) }

func (b bridge) Registering(register func(context.Context) error) error {
	b.conn.registry.registering.Lock()
	defer b.conn.registry.registering.Unlock()
	if b.conn.isClosing() {
		return ErrClosed
	}
	ctx, cancel := context.WithTimeout(b.conn.life.base, natsconn.DefaultTimeout)
	defer cancel()
	return register(ctx)
}

func (b bridge) Install(ctx context.Context, into *server.Router, endpoints []feature.Endpoint,
	subscriptions []*natsconn.Subscription, then func() error) error {
	own := ownEndpoints(endpoints)
	if err := validEndpoints(b.conn.plane, b.conn.host, own); err != nil {
		return err
	}
	if subscriptions == nil {
		subscriptions = b.conn.subscriptionsOf(own)
	}
	if err := b.conn.install(ctx, into, own, subscriptions, then); err != nil {
		return err
	}
	b.conn.registry.add(own)
	return nil
}

func (b bridge) InstallControls(ctx context.Context, controls []feature.Control) error {
	endpoints := make([]*endpoint, 0, len(controls))
	for _, each := range controls {
		mapped, err := restmap.Handler(each.Method, each.Path)
		if err != nil {
			return err
		}
		config := newEndpointConfig()
		config.port, config.hidden = subject.ControlPort, true
		config.queue, config.bodyLimit = !each.NoQueue, functionBodyLimit
		control := newEndpoint(config, mapped.Name, mapped)
		control.onAll, control.addressed = each.OnAll, each.OnAll
		control.run = func(ctx context.Context, in *serverCall) (*wire.Response, error) {
			return in.serveWeb(ctx, each.Serve)
		}
		endpoints = append(endpoints, control)
	}
	return b.conn.install(ctx, b.conn.server.Router, controlled(endpoints), b.conn.subscriptionsOf(endpoints), nil)
}

func (b bridge) Listen(ctx context.Context, subscription *natsconn.Subscription) (stop func(), err error) {
	c := b.conn
	c.registry.registering.Lock() // a registration that fails takes back all that was subscribed meanwhile
	defer c.registry.registering.Unlock()
	ctx, cancel := context.WithTimeout(ctx, natsconn.DefaultTimeout)
	defer cancel()
	if err := c.session.Attempt(ctx, func() error { return c.session.Subscribe(subscription) }, nil); err != nil {
		return nil, c.closedMeanwhile(err)
	}
	return func() { c.session.Unsubscribe([]*natsconn.Subscription{subscription}) }, nil
}

func (b bridge) Announce(ctx context.Context) { b.conn.announce(ctx, server.HelloPath, nil) }

func (b bridge) NoteRule(of feature.Endpoint) {
	b.conn.noteRequired(ownEndpoints([]feature.Endpoint{of}))
}

func (b bridge) TokenMissing(request *wire.Request, of feature.Endpoint) error {
	return b.conn.tokenMissing(request, ownEndpoints([]feature.Endpoint{of})[0])
}

func (b bridge) Forbidden() error { return notRun(http.StatusForbidden, errClaims, "%s", errClaims) }

// handlers implements [feature.Handlers].
type handlers struct{ config *serviceConfig }

func (h handlers) Describe(as reflect.Type, impl any) (*reflectapi.Service, error) {
	h.config.err = cmp.Or(h.config.err, h.config.endpoints.err)
	return describe(as, impl, h.config)
}

func (h handlers) Settings() []feature.Settings {
	all := []feature.Settings{h.config.endpoints.settings()}
	for name := range h.config.methods {
		method := h.config.method(name)
		all = append(all, method.settings())
	}
	return all
}

func (c *endpointConfig) settings() feature.Settings {
	return feature.Settings{Port: c.port, Queue: c.queue, Secured: c.secured, Limited: len(c.callers) > 0}
}

func (h handlers) Routes() restmap.Options { return h.config.routing() }

func (h handlers) Endpoints(source string, mapped []*restmap.Endpoint, service *reflectapi.Service) []feature.Endpoint {
	own := endpointsOf(mapped, service, h.config)
	all := make([]feature.Endpoint, len(own))
	for i, e := range own {
		e.source = source
		all[i] = planned{e}
	}
	return all
}

func (h handlers) Rule() (feature.Endpoint, error) {
	rule := &endpoint{endpointConfig: h.config.endpoints}
	return planned{rule}, cmp.Or(h.config.endpoints.err, rule.compileClaims())
}

func (h handlers) SetStrict(strict bool) { h.config.strict = strict }

// serviceConfigOf returns what a configuration of handlers stands for.
func serviceConfigOf(config feature.Handlers) *serviceConfig {
	of, _ := config.(handlers)
	return of.config
}

// planned implements [feature.Endpoint].
type planned struct{ own *endpoint }

func (p planned) Routed() *server.Endpoint {
	p.own.route()
	return p.own.routed
}

func (p planned) Mapped() *restmap.Endpoint { return p.own.mapped }

func (p planned) Claims() string { return p.own.claims }

func (p planned) Allows(verified claims.Claims) bool { return p.own.allows(verified) }

func (p planned) Guard(check func(*server.Incoming) error) {
	run := p.own.run
	p.own.run = func(ctx context.Context, in *serverCall) (*wire.Response, error) {
		if err := check(&in.Incoming); err != nil {
			return nil, unsent(err)
		}
		return run(ctx, in)
	}
}

// ownEndpoints returns what endpoints stand for.
func ownEndpoints(endpoints []feature.Endpoint) []*endpoint {
	own := make([]*endpoint, len(endpoints))
	for i, each := range endpoints {
		of, _ := each.(planned)
		own[i] = of.own
	}
	return own
}
