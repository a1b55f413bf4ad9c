package bus

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsmicro"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap"
)

// control is the service of every instance for the framework itself, on port 888 of its host and of "all". It is served
// like any other struct; the context holds the connection.
type control struct{}

// identity is the answer of Ping.
type identity struct {
	Host    string `json:"host"`
	ID      string `json:"id"`
	Version string `json:"version"`
	Ports   []int  `json:"ports"`
	Digest  string `json:"digest"` // instances of a host with different ones have different documents

	NotReady string `json:"notReady,omitempty"` // why the instance has left its queues
}

// Ping returns the identity of the instance: discovery is a multicast to https://all:888/ping.
func (control) Ping(ctx context.Context) (httpResponseBody identity) {
	conn := servingConn(ctx)
	return identity{conn.host, conn.id, conn.config.version, conn.server.Router.ServedPorts(), conn.documents.digest(conn),
		conn.readiness.reasonText()}
}

// Traffic returns the calls that the instance has served and made so far.
func (control) Traffic(ctx context.Context) (started time.Time, served []metrics.ServedCalls,
	made []metrics.MadeCalls) {
	traffic := servingConn(ctx).reportTraffic()
	return traffic.Started, traffic.Served, traffic.Made
}

// Metrics writes the metrics in the text format of Prometheus.
func (control) Metrics(w http.ResponseWriter, r *http.Request) {
	servingConn(r.Context()).ServeMetrics(w, r)
}

// Cancel announces that the caller no longer waits for the answer to its request with that id.
func (control) Cancel(ctx context.Context, id string) {
	caller, _ := CallerOf(ctx)
	servingConn(ctx).server.Cancel(server.RequestKey{Host: caller.Host, ID: caller.ID, MsgID: id})
}

// allowEndpoint is called when the broker reports that no instance subscribes to a path. Each instance answers, as
// versions may differ. It is served once the host has an endpoint.
type allowEndpoint struct{}

// allowed is the answer of Allow.
type allowed struct {
	Methods []string `json:"methods"` // HTTP methods under which the path is served
	// methods under which it was served until the endpoint was withdrawn: it may come back
	Withdrawn []string `json:"withdrawn,omitempty"`
	// the hosts that may call under a method, where not all may
	Callers map[string][]string `json:"callers,omitempty"`
	Meant   string              `json:"meant,omitempty"`  // the path that is probably meant, if this one is not served
	Routes  *[]string           `json:"routes,omitempty"` // of the Go method that was asked for
}

// Allow returns the HTTP methods under which a path is served and, if a name is given, the routes of the Go method of
// that name.
func (allowEndpoint) Allow(ctx context.Context, port int, path, name string) (httpResponseBody allowed) {
	conn := servingConn(ctx)
	var answer allowed
	answer.Methods, answer.Withdrawn = conn.server.Router.AllMethods(port, path)
	answer.Callers = conn.callersUnder(port, path, answer.Methods)
	if len(answer.Methods) == 0 {
		answer.Meant = conn.registry.pathLike(port, path)
	}
	if name != "" {
		routes := conn.registry.routesOf(name)
		answer.Routes = &routes
	}
	return answer
}

// callersUnder returns the hosts that may call a path, by method, as the documents show them without a token; nil if
// all may.
func (c *Conn) callersUnder(port int, path string, methods []string) (limited map[string][]string) {
	for _, method := range methods {
		found := c.server.Router.Find(subject.Address{Port: port, Host: c.host, Method: method, Path: path})
		if !found.IsFound() || len(found.Endpoint.Callers) == 0 {
			continue
		}
		if e, _ := found.Endpoint.Value.(*endpoint); e.hidden || !e.allows(nil) {
			continue
		}
		if limited == nil {
			limited = make(map[string][]string)
		}
		limited[method] = found.Endpoint.Callers
	}
	return limited
}

// The endpoints that every connection serves are planned once: planning takes longer than the rest of Connect.
//
//nolint:gochecknoglobals // they do not change
var (
	controlEndpoints   = sync.OnceValues(planControl)
	directoryEndpoints = sync.OnceValues(planDirectory)
)

func planControl() ([]*endpoint, error) {
	endpoints, _, err := plan(nil, control{}, newServiceConfig([]ServeOption{
		Port(subject.ControlPort), Undocumented(), NoQueue(),
		ParamNames("Ping", "", "httpResponseBody"), Method("Ping", HTTPMethod(http.MethodGet)),
		ParamNames("Traffic", "", "started, served, made"), Method("Traffic", HTTPMethod(http.MethodGet)),
		Method("Metrics", HTTPMethod(http.MethodGet)),
		ParamNames("Tap", "after, wait", "calls, next, missed"), Method("Tap", HTTPMethod(http.MethodGet)),
		ParamNames("Cancel", "id", ""), Method("Cancel", HTTPMethod(http.MethodPost)),
	}))
	for _, e := range endpoints {
		switch e.mapped.Name {
		case "Ping", "Traffic":
			e.onAll = true
		case "Cancel", "Tap":
			e.addressed = true
		}
	}
	return controlled(endpoints), err
}

// everyonesSubject matches all requests to the host "all".
func everyonesSubject(plane string) string {
	return subject.Subscription(plane, strconv.Itoa(subject.ControlPort), subject.HostAll, anyRest)
}

func planDirectory() ([]*endpoint, error) {
	endpoints, _, err := plan(nil, allowEndpoint{}, newServiceConfig([]ServeOption{
		Port(subject.ControlPort), Undocumented(), NoQueue(),
		ParamNames("Allow", "port, path, name", "httpResponseBody"), Method("Allow", HTTPMethod(http.MethodGet)),
	}))
	return controlled(endpoints), err
}

// controlled completes endpoints of port 888.
func controlled(endpoints []*endpoint) []*endpoint {
	for _, e := range endpoints {
		e.chain = controlChain(e)
		e.route()
	}
	return endpoints
}

// takesActor reports whether a request on port 888 carries the token of its actor.
func takesActor(path string) bool {
	return path == feature.AsyncAPIPath || path == feature.TracePath || strings.HasPrefix(path, feature.PublishPath)
}

// microService is a connection as the service protocol of NATS shows it.
type microService struct{ conn *Conn }

func (s microService) Instance() natsmicro.Instance {
	c := s.conn
	return natsmicro.Instance{
		Host: c.host, ID: c.id, Plane: c.plane, Version: c.config.version, Started: c.opened, Limiter: c.server.Controls,
		Logger: c.logger,
	}
}

// Description returns what the documents say to a caller without a token.
func (s microService) Description() string {
	return cmp.Or(s.conn.config.description, s.conn.documents.descriptionOfAll())
}

func (s microService) IsClosing() bool { return s.conn.isClosing() }

// Endpoints returns those that are not hidden.
func (s microService) Endpoints() (listed []natsmicro.Endpoint) {
	for _, e := range s.conn.registry.all() {
		if e.hidden {
			continue
		}
		var counts metrics.Counts
		for _, of := range e.served.Counts() {
			counts = counts.Plus(of)
		}
		listed = append(listed, natsmicro.Endpoint{
			Name: e.Name, Subject: s.conn.listedSubject(e), QueueGroup: e.brokerQueue(s.conn),
			Metadata: map[string]string{"method": e.methods(), "path": e.Path, "port": strconv.Itoa(e.Port)},
			Counts:   counts, LastError: e.lastErrorText(),
		})
	}
	return listed
}

// listedSubject is the subject of an endpoint, with a wildcard when it has several methods.
func (c *Conn) listedSubject(e *endpoint) string {
	route := e.mapped.Routes[0]
	if len(e.mapped.Routes) > 1 {
		route.Method = restmap.AnyMethod
	}
	return e.subject(c.plane, c.host, route)
}

// methods returns the methods of an endpoint, "GET,POST"; "*" is any.
func (e *endpoint) methods() string {
	var methods []string
	for _, route := range e.mapped.Routes {
		methods = append(methods, route.Method)
	}
	return strings.Join(methods, ",")
}

// lastErrorText is the status of the last request that was answered with an error, "404 Not Found"; "" for none.
func (e *endpoint) lastErrorText() string {
	status := int(e.lastError.Load())
	if status == 0 {
		return ""
	}
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}
