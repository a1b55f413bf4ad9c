package bus

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap/strictjson"
)

// hostAll is the host that every service answers on, besides its own.
const hostAll = "all"

// allowPath is where a host tells under which methods a path is served.
const allowPath = "/allow"

// control is what the framework itself tells and asks every instance, on port 888 of its host and of "all". It is
// served like any other struct.
type control struct{ conn *Conn }

// Ping says who is there: discovery is a multicast to https://all:888/ping.
func (c control) Ping() (host, id, version string, ports []int) {
	return c.conn.host, c.conn.id, c.conn.version, c.conn.router.servedPorts()
}

// Hello says that the caller serves something new: what was known of who answers is no longer complete.
func (c control) Hello(ctx context.Context) { c.forgetCaller(ctx) }

// Bye says that the caller has left.
func (c control) Bye(ctx context.Context) { c.forgetCaller(ctx) }

// Cancel says that the caller waits no more for the answer to its request of that id.
func (c control) Cancel(ctx context.Context, id string) {
	caller, _ := CallerOf(ctx)
	key := requestKey{caller.Host, caller.ID, id}
	if !c.conn.unfinished.cancel(key) {
		c.conn.running.cancel(key)
	}
}

func (c control) forgetCaller(ctx context.Context) {
	caller, _ := CallerOf(ctx)
	c.conn.responders.forget(caller.Host)
}

// directory is what a caller asks a host when the broker says that nobody subscribes to a path. It is served
// once there is something to tell.
type directory struct{ conn *Conn }

// Allow says under which methods a path is served.
func (d directory) Allow(port int, path string) (methods []string) {
	return d.conn.router.methods(port, path)
}

func (c *Conn) controlEndpoints() ([]*endpoint, error) {
	endpoints, _, err := plan(nil, control{c}, newServiceConfig([]ServeOption{
		Port(controlPort), Hidden(), NoQueue(),
		Names("Ping", "", "host, id, version, ports"), Method("Ping", HTTPMethod(http.MethodGet)),
		Names("Hello", "", ""), Method("Hello", HTTPMethod(http.MethodPost)),
		Names("Bye", "", ""), Method("Bye", HTTPMethod(http.MethodPost)),
		Names("Cancel", "id", ""), Method("Cancel", HTTPMethod(http.MethodPost)),
	}))
	for _, e := range endpoints {
		e.onAll = e.mapped.Name != "Cancel" // which is for one instance
	}
	return endpoints, err
}

func (c *Conn) directoryEndpoints() ([]*endpoint, error) {
	endpoints, _, err := plan(nil, directory{c}, newServiceConfig([]ServeOption{
		Port(controlPort), Hidden(),
		Names("Allow", "port, path", "methods"), Method("Allow", HTTPMethod(http.MethodGet)),
	}))
	return endpoints, err
}

// newAllowed asks a host under which methods it serves a path.
func newAllowed(address subject.Address) (*outgoing, error) {
	query := url.Values{"port": {strconv.Itoa(address.Port)}, "path": {address.Path}}
	return newOutgoing(http.MethodGet, &url.URL{
		Scheme: "https", Host: address.Host + ":" + strconv.Itoa(controlPort), Path: allowPath, RawQuery: query.Encode(),
	}, nil, nil)
}

// parseAllowed reads the answer; false when it is none.
func parseAllowed(body []byte) (methods []string, ok bool) {
	var answer struct {
		Methods []string `json:"methods"`
	}
	err := strictjson.Unmarshal(body, &answer)
	return answer.Methods, err == nil
}

// announce tells every instance of the plane something, and awaits nothing.
func (c *Conn) announce(what string) {
	to := &url.URL{Scheme: "https", Host: hostAll + ":" + strconv.Itoa(controlPort), Path: "/" + what}
	request, err := newOutgoing(http.MethodPost, to, nil, nil)
	if err == nil {
		err = c.seal(context.Background(), request)
	}
	if err == nil {
		c.freshStamp(request)
		err = c.nats.send(request)
	}
	if err != nil {
		c.logger.Warn().Err(err).Msg(what + " was not sent; a multicast of others may miss this instance once")
	}
}
