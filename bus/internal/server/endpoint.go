package server

import (
	"cmp"
	"strconv"
	"time"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap"
)

// Endpoint is what the server knows of an endpoint. It does not change once it is in a router.
type Endpoint struct {
	Name, Path string
	Port       int
	Routes     []restmap.Route
	Source     string        // the host whose event this is; "" for what is served on our own host
	Queue      bool          // one instance of the host handles a request; else all do
	OnAll      bool          // served on the host "all", by one subscription for all such endpoints
	Web        bool          // an http.Handler
	Secured    bool          // it asks for claims
	Claims     string        // that satisfy this expression
	BodyLimit  int           // bytes
	TimeBudget time.Duration // the longest a handler may take; 0 for no limit but that of the caller
	Value      any           // what the Service keeps behind it
}

// queueName returns the queue that an instance answers under. Without a queue each instance is one of its own.
func (s *Server) queueName(e *Endpoint) string {
	if e.Queue {
		return s.Host
	}
	return s.ownHost
}

// hostOf returns the hostname that the endpoint is served on.
func (s *Server) hostOf(e *Endpoint) string { return cmp.Or(e.Source, s.Host) }

// Subject returns the subject of a subscription to a route of the endpoint, served on a host unless it has a Source.
func (e *Endpoint) Subject(plane, host string, route restmap.Route) string {
	return subject.Subscription(plane, strconv.Itoa(e.Port), cmp.Or(e.Source, host), route.Method, Tokens(route.Pattern)...)
}

// Tokens are the pattern's segments as a subscription has them.
func Tokens(pattern restmap.Pattern) []string {
	segments := pattern.Segments()
	made := make([]string, len(segments))
	for i, segment := range segments {
		switch {
		case segment.Rest:
			made[i] = ">"
		case segment.Name != "":
			made[i] = "*"
		default:
			made[i] = subject.Escape(segment.Literal)
		}
	}
	return made
}
