package bus

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// endpoint is the plan of one endpoint, made when it is registered. A call walks it and searches nothing.
type endpoint struct {
	Endpoint
	endpointConfig
	routed *server.Endpoint // as the server knows it; made when all else is set
	source string           // the host whose event this is; "" for what is served on our own host
	mapped *restmap.Endpoint
	impl   any           // what it was registered with; nil for documents and events
	group  *server.Group // of all that was registered with it; nil alike
	rule   *claims.Rule  // what it asks of a token; nil for nothing
	run    func(ctx context.Context, in *serverCall) (*wire.Response, error)
	chain  CallFunc        // ends with run
	served *metrics.Family // by caller; nil for what the framework itself serves

	isDocument bool         // of its port
	unseen     bool         // no interceptor of the user's stands in the chain
	lastError  atomic.Int32 // the status of the last request that was answered with an error

	misspelt logqueue.Once
}

// Body limits, where no option says otherwise.
const (
	functionBodyLimit = 4 << 20
	webBodyLimit      = 32 << 20
)

// endpointConfig is what the options of an endpoint set.
type endpointConfig struct {
	port        int
	portSet     bool // by an option
	queue       bool
	hidden      bool
	onAll       bool     // served on the host "all", by one subscription for all that is
	addressed   bool     // served only to who addresses this instance, or all of them
	judged      bool     // Claims or Public was used at this level: that of Serve, or of the one method or handler
	secured     bool     // it asks for claims
	claims      string   // that satisfy this expression
	limited     bool     // RequireCallers was used at this level
	callers     []string // the hosts that may call; nil for all
	err         error    // what is wrong with how they were used
	bodyLimit   int      // bytes; 0: the default of its kind
	streamLimit int64    // bytes of a body that a web endpoint reads as a stream; 0 for none
	timeBudget  time.Duration
	description string
	web         *openapi.WebDoc // nil if an option says nothing

	interceptors []Interceptor
}

func newEndpointConfig() endpointConfig { return endpointConfig{port: subject.PublicPort, queue: true} }

// Errors for options of claims at one level that contradict each other: only the last one would count.
var (
	errClaimsTwice     = errors.New(`bus.RequireClaims twice in one place: join both expressions in one, bus.RequireClaims("(…) and (…)")`)
	errCallersTwice    = errors.New("bus.RequireCallers twice in one place: name all hosts in one")
	errNoCallers       = errors.New(`bus.RequireCallers names no host, so no service could call: name those that may, bus.RequireCallers("orders.example")`)
	errClaimsAndPublic = errors.New("bus.RequireClaims beside bus.AllowAnonymous in one place: leave one of them out")
)

// judge sets whether claims are asked for, and which.
func (c *endpointConfig) judge(secured bool, claims string) {
	switch {
	case c.judged && secured != c.secured:
		c.err = errClaimsAndPublic
	case c.judged && secured:
		c.err = errClaimsTwice
	}
	c.judged, c.secured, c.claims = true, secured, claims
}

// limit sets which hosts may call.
func (c *endpointConfig) limit(hosts []string) {
	switch {
	case c.limited:
		c.err = errCallersTwice
	case len(hosts) == 0:
		c.err = errNoCallers
	default:
		c.err = cmp.Or(c.err, subject.CheckCallers(hosts))
	}
	c.limited, c.callers = true, hosts
}

// isGuarded reports whether not all may call.
func (c *endpointConfig) isGuarded() bool { return c.secured || len(c.callers) > 0 }

// newEndpoint makes the plan of an endpoint that nothing has been done for yet.
func newEndpoint(config endpointConfig, name string, mapped *restmap.Endpoint) *endpoint {
	return &endpoint{
		Endpoint:       Endpoint{Name: name, Path: mapped.Path().String(), Port: config.port},
		endpointConfig: config, mapped: mapped,
	}
}

// route makes what the server knows of the endpoint, unless it is there.
func (e *endpoint) route() {
	if e.routed != nil {
		return
	}
	e.routed = &server.Endpoint{
		Name: e.Name, Path: e.Path, Port: e.Port, Routes: e.mapped.Routes, Source: e.source, Queue: e.queue, OnAll: e.onAll,
		Web: e.mapped.Style == restmap.Web, Streams: e.mapped.Style == restmap.Web || e.mapped.Element() != nil,
		Framework: e.isDocument || e.Port == subject.ControlPort,
		Group:     e.group, Secured: e.secured, Claims: e.claims, Callers: e.callers, BodyLimit: e.bodyLimit,
		TimeBudget: e.timeBudget, Value: e,
	}
}

func routedOf(endpoints []*endpoint) []*server.Endpoint {
	routed := make([]*server.Endpoint, len(endpoints))
	for i, e := range endpoints {
		routed[i] = e.routed
	}
	return routed
}

// brokerQueue is the queue that the broker balances over, "" for none.
func (e *endpoint) brokerQueue(c *Conn) string {
	if e.queue {
		return c.host
	}
	return ""
}

func (e *endpoint) sharesPort(other *endpoint) bool { return other.Port == e.Port }

// hostOf is the hostname that the endpoint is served on.
func (e *endpoint) hostOf(c *Conn) string { return cmp.Or(e.source, c.host) }

// runFunction makes the run of a function endpoint: request → arguments → method → results → response.
func runFunction(e *endpoint) func(context.Context, *serverCall) (*wire.Response, error) {
	if e.bodyLimit == 0 {
		e.bodyLimit = functionBodyLimit
	}
	json := jsonContent()
	isIdempotent := e.mapped.Method.Declared.Idempotent
	return func(ctx context.Context, in *serverCall) (*wire.Response, error) {
		if isIdempotent {
			if err := e.checkKeyTaken(in); err != nil {
				return nil, err
			}
		}
		arguments, err := e.decode(in)
		if err != nil {
			return nil, unsent(err)
		}
		results, err := e.mapped.Method.Call(ctx, arguments)
		if err != nil {
			return nil, executed(err)
		}
		if in.copyResults(results) {
			in.local.filled.Header = in.Handler.ResponseHeader(json)
			if in.conn.config.checkResponse != nil {
				in.checkResults(results)
			}
			return in.local.filled, nil
		}
		encoded, err := e.mapped.Encode(results)
		if err != nil {
			return nil, executed(err)
		}
		in.response = wire.Response{Status: encoded.Status, Body: encoded.Body}
		if encoded.ContentType != "" {
			in.response.Header = json
		}
		in.response.Header = in.Handler.ResponseHeader(in.response.Header)
		return &in.response, nil
	}
}

// checkKeyTaken rejects a request with a key, be it blank, that no interceptor has taken out: its caller relies on it.
// A bus of tests may have no store of keys, so there it runs.
func (e *endpoint) checkKeyTaken(in *serverCall) error {
	if in.conn.config.strict || !in.Request.Header.Has(restmap.IdempotencyKey) {
		return nil
	}
	return notRun(http.StatusNotImplemented, nil, "%s is declared %s, and this service keeps no keys: "+
		"serve it with bus.Intercept and interceptors.Idempotent", e.Name, reflectapi.IdempotentDirective)
}

// decode turns a request into the arguments of the method.
func (e *endpoint) decode(in *serverCall) (reflect.Value, error) {
	if in.local != nil {
		return in.local.args, nil
	}
	if coding := in.Request.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return reflect.Value{}, notRun(http.StatusUnsupportedMediaType, nil,
			"content encoding %q is not supported: send the body without one", coding)
	}
	_, query, _ := strings.Cut(in.Request.Target, "?")
	request := restmap.Request{
		Method:      in.Request.Method,
		Query:       query,
		ContentType: in.Request.Header.Get("Content-Type"),
		Body:        in.Request.Body,
	}
	if in.HasValues() {
		request.PathValue = in.Value
	}
	arguments, err := e.mapped.Decode(&request)
	if err != nil {
		return arguments, err // which says what is wrong
	}
	for _, name := range request.Misspelt {
		e.warnOfMisspelt(in, name)
	}
	return arguments, nil
}

// warnOfMisspelt logs an argument that was ignored although it may be meant for another one, once.
func (e *endpoint) warnOfMisspelt(in *serverCall, name string) {
	if e.misspelt.IsFirst(name) {
		in.conn.log(in.conn.logger.Warn().Str("endpoint", e.Name).Str("caller", in.Request.FromHost),
			"an argument is unknown and ignored: "+name)
	}
}

func (e *endpoint) subject(plane, host string, route restmap.Route) string {
	return subject.Subscription(plane, strconv.Itoa(e.Port), host, route.Method, server.Tokens(route.Pattern)...)
}
