package bus

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/internal/natsmicro"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/restmap"
)

// microService is a connection as the service protocol of NATS shows it.
type microService struct{ conn *Conn }

func (s microService) Instance() natsmicro.Instance {
	c := s.conn
	return natsmicro.Instance{
		Host: c.host, ID: c.id, Plane: c.plane, Version: c.config.version, Started: c.opened, Limiter: c.server.Controls, Logger: c.logger,
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
