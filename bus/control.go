package bus

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
)

// control is the service of every instance for the framework itself, on port 888 of its host and of "all". It is served
// like any other struct; the context holds the connection.
type control struct{}

// Ping returns the identity of the instance: discovery is a multicast to https://all:888/ping.
func (control) Ping(ctx context.Context) (host, id, version string, ports []int) {
	conn := servingConn(ctx)
	return conn.host, conn.id, conn.version, conn.router.servedPorts()
}

// Traffic returns the calls that the instance has served and made so far.
func (control) Traffic(ctx context.Context) (started time.Time, served []metrics.ServedCalls, made []metrics.MadeCalls) {
	traffic := servingConn(ctx).reportTraffic()
	return traffic.Started, traffic.Served, traffic.Made
}

// Metrics writes the metrics in the text format of Prometheus.
func (control) Metrics(w http.ResponseWriter, r *http.Request) {
	servingConn(r.Context()).ServeMetrics(w, r)
}

// Hello announces new endpoints of the caller, so the known set of responders may be incomplete.
func (control) Hello(ctx context.Context) { greeted(ctx, true) }

// Bye announces that the caller has left.
func (control) Bye(ctx context.Context) { greeted(ctx, false) }

// Cancel announces that the caller no longer waits for the answer to its request with that id.
func (control) Cancel(ctx context.Context, id string) {
	caller, _ := CallerOf(ctx)
	conn, key := servingConn(ctx), requestKey{caller.Host, caller.ID, id}
	if !conn.unfinished.cancel(key) {
		conn.shared.inflight.cancel(conn, key)
	}
}

func greeted(ctx context.Context, stays bool) {
	caller, _ := CallerOf(ctx)
	servingConn(ctx).client.Greeted(client.Peer{Host: caller.Host, ID: caller.ID}, stays)
}

// allowEndpoint is called when the broker reports that no instance subscribes to a path. It is served once the host has
// an endpoint.
type allowEndpoint struct{}

// Allow returns the methods under which a path is served.
func (allowEndpoint) Allow(ctx context.Context, port int, path string) (methods []string) {
	return servingConn(ctx).router.methods(port, path)
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
		ParamNames("Ping", "", "host, id, version, ports"), Method("Ping", HTTPMethod(http.MethodGet)),
		ParamNames("Traffic", "", "started, served, made"), Method("Traffic", HTTPMethod(http.MethodGet)),
		Method("Metrics", HTTPMethod(http.MethodGet)),
		ParamNames("Tap", "after, wait", "calls, next, missed"), Method("Tap", HTTPMethod(http.MethodGet)),
		ParamNames("Hello", "", ""), Method("Hello", HTTPMethod(http.MethodPost)),
		ParamNames("Bye", "", ""), Method("Bye", HTTPMethod(http.MethodPost)),
		ParamNames("Cancel", "id", ""), Method("Cancel", HTTPMethod(http.MethodPost)),
	}))
	for _, e := range endpoints {
		switch e.mapped.Name {
		case "Ping", "Traffic":
			e.onAll = true
		case "Hello", "Bye":
			e.onAll, e.addressed = true, true
		case "Cancel", "Tap":
			e.addressed = true
		}
		e.chain = controlChain(e)
	}
	return endpoints, err
}

// everyonesSubject matches all requests to the host "all".
func everyonesSubject(plane string) string {
	return subject.Subscription(plane, strconv.Itoa(subject.ControlPort), subject.HostAll, anyRest)
}

func planDirectory() ([]*endpoint, error) {
	endpoints, _, err := plan(nil, allowEndpoint{}, newServiceConfig([]ServeOption{
		Port(subject.ControlPort), Undocumented(),
		ParamNames("Allow", "port, path", "methods"), Method("Allow", HTTPMethod(http.MethodGet)),
	}))
	for _, e := range endpoints {
		e.chain = controlChain(e)
	}
	return endpoints, err
}

// announce sends a greeting to every instance of the plane, without waiting for an answer.
func (c *Conn) announce(ctx context.Context, what string) {
	defer c.shared.turn(ctx)()
	to := &url.URL{Scheme: "https", Host: subject.HostAll + ":" + strconv.Itoa(subject.ControlPort), Path: "/" + what}
	greeting, err := client.NewOutgoing(http.MethodPost, to, nil, nil)
	if err == nil {
		err = c.client.Tell(ctx, &greeting)
	}
	if err != nil {
		c.log(c.logger.Warn().Err(err), "cannot send "+what+" to the other services; their next multicast may miss this instance")
	}
}

// turn waits until the answers to earlier greetings are taken, and returns what ends the turn. Every connection on the broker
// connection gets and answers each greeting: if hundreds greet at once, that is more than the dispatcher holds.
func (s *shared) turn(ctx context.Context) (over func()) {
	select {
	case s.greeting <- struct{}{}:
	case <-ctx.Done():
		return func() {} // the context has ended: greet anyway
	}
	_ = s.broker.Flush(ctx) // without the broker nothing comes
	s.broker.Barrier(ctx)
	return func() { <-s.greeting }
}

// inflight holds the requests of all instances of a link whose handlers run, to be found when their callers leave. A
// cancel for any other request has no effect.
type inflight struct{ shards [16]inflightShard } // by the last byte of the message id, so that requests do not wait for each other

// inflightShard is searched only when a caller leaves, which is rare. Each request knows its index, so adding and
// removing need no search.
type inflightShard struct {
	mu       sync.Mutex // protects requests, and their place fields
	requests []*arrival
}

// requestKey identifies a request by its sender, so that no other caller can cancel it.
type requestKey struct{ host, id, msgID string }

func (r *inflight) shard(msgID string) *inflightShard {
	if msgID == "" {
		return &r.shards[0]
	}
	return &r.shards[int(msgID[len(msgID)-1])%len(r.shards)] // the last byte is random
}

// noPlace is the place of a request that is not in a shard.
const noPlace = -1

// add adds a request, unless it is one of the framework.
func (r *inflight) add(s *arrival, port int) {
	s.place = noPlace
	if port == subject.ControlPort {
		return
	}
	at := r.shard(s.read.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s.place = len(at.requests)
	at.requests = append(at.requests, s)
}

// remove removes a request that has ended, and ends its context.
func (r *inflight) remove(s *arrival) {
	s.serving.End(context.Canceled, true)
	at := r.shard(s.read.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	if s.place == noPlace {
		return
	}
	last := len(at.requests) - 1
	moved := at.requests[last]
	at.requests[s.place], moved.place = moved, s.place
	at.requests[last] = nil // so that it can be collected
	at.requests = at.requests[:last]
}

// cancel ends the context of a running handler of an instance.
func (r *inflight) cancel(c *Conn, key requestKey) {
	at := r.shard(key.msgID)
	if found := at.find(c, key); found != nil {
		found.serving.End(ErrCallerLeft, false)
	}
}

func (at *inflightShard) find(c *Conn, key requestKey) *arrival {
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, each := range at.requests {
		if each.serving.Owner == c && each.read.MsgID == key.msgID && keyOf(&each.read) == key {
			return each
		}
	}
	return nil
}
