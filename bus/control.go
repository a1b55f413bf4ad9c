package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// control is the service of every instance for the framework itself, on port 888 of its host and of "all". It is served
// like any other struct; the context holds the connection.
type control struct{}

// Ping returns the identity of the instance: discovery is a multicast to https://all:888/ping. Instances of a host with different digests
// have different documents.
func (control) Ping(ctx context.Context) (host, id, version string, ports []int, digest string) {
	conn := servingConn(ctx)
	return conn.host, conn.id, conn.config.version, conn.server.Router.ServedPorts(), conn.documents.digest(conn)
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

// Cancel announces that the caller no longer waits for the answer to its request with that id.
func (control) Cancel(ctx context.Context, id string) {
	caller, _ := CallerOf(ctx)
	servingConn(ctx).server.Cancel(server.RequestKey{Host: caller.Host, ID: caller.ID, MsgID: id})
}

// allowEndpoint is called when the broker reports that no instance subscribes to a path. Each instance answers, as versions may
// differ. It is served once the host has an endpoint.
type allowEndpoint struct{}

// allowed is the answer of Allow.
type allowed struct {
	Methods []string  `json:"methods"`          // HTTP methods under which the path is served
	Meant   string    `json:"meant,omitempty"`  // the path that is probably meant, if the asked one is not served
	Routes  *[]string `json:"routes,omitempty"` // of the Go method that was asked for
}

// Allow returns the HTTP methods under which a path is served and, if a name is given, the routes of the Go method of that name.
func (allowEndpoint) Allow(ctx context.Context, port int, path, name string) (httpResponseBody allowed) {
	conn := servingConn(ctx)
	answer := allowed{Methods: conn.server.Router.Methods(port, path)}
	if len(answer.Methods) == 0 {
		answer.Meant = conn.registry.pathLike(port, path)
	}
	if name != "" {
		routes := conn.registry.routesOf(name)
		answer.Routes = &routes
	}
	return answer
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
		ParamNames("Ping", "", "host, id, version, ports, digest"), Method("Ping", HTTPMethod(http.MethodGet)),
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

// maxAnnouncement bounds the body of an announcement that is read, in bytes, so that one takes as little as any other.
const maxAnnouncement = 4 << 10

// announcement is the body of an announcement: what instances of one host have to know of each other. All members may be missing.
type announcement struct {
	Digest  string `json:"digest"` // of the document, as in a ping
	Version string `json:"version,omitempty"`
}

// announce tells every instance of the plane that this one has come or has something new, or that it leaves. No one answers. told may be nil.
func (c *Conn) announce(ctx context.Context, path string, told *announcement) {
	defer c.shared.turn(ctx)()
	var header wire.Header
	var body []byte
	var err error
	if told != nil {
		header = jsonContent()
		body, err = json.Marshal(told)
	}
	to := &url.URL{Scheme: "https", Host: subject.HostAll + ":" + strconv.Itoa(subject.ControlPort), Path: path}
	announced, failed := client.NewOutgoing(http.MethodPost, to, header, body)
	if err = cmp.Or(err, failed); err == nil {
		err = c.client.Tell(ctx, &announced)
	}
	if err != nil {
		c.log(c.logger.Warn().Err(err), "cannot send "+path+" to the other services; their next multicast may miss this instance")
	}
}

// turn waits until earlier announcements of this process have come back to it, and returns what ends the turn. Every connection on the
// broker connection gets each: if hundreds announce at once, that is more than the dispatcher holds.
func (s *shared) turn(ctx context.Context) (over func()) {
	select {
	case s.announcing <- struct{}{}:
	case <-ctx.Done():
		return func() {} // the context has ended: announce anyway
	}
	_ = s.broker.Flush(ctx) // without the broker nothing comes
	s.broker.Barrier(ctx)
	return func() { <-s.announcing }
}

// announced takes the announcement of another instance, or of this one.
func (c *Conn) announced(by *wire.Request, stays bool) {
	host, id := strings.Clone(by.FromHost), strings.Clone(by.FromID)
	var told announcement
	if stays && len(by.Body) > 0 && len(by.Body) <= maxAnnouncement {
		_ = json.Unmarshal(by.Body, &told) // one that tells nothing is a greeting
	}
	if other := (client.Peer{Host: host, ID: id}); told.Digest == "" || !c.client.Knows(other) {
		c.client.Greeted(other, stays)
	}
	c.events.greetedBy(Caller{Host: host, ID: id}, stays)
	c.watchers.tell(Announcement{Host: host, ID: id, Leaves: !stays})
	switch {
	case host != c.host || id == c.id:
	case !stays:
		c.differing.forget(id)
	case told.Digest != "":
		c.differs(id, told)
	}
}
