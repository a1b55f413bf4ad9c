package bus

import (
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// incoming is a request that has reached this instance, and the way back to its caller. Everything that a request needs is
// in one piece of memory.
type incoming struct {
	Exchange
	through *subscription
	back    replier
	backTo  string             // the subject to answer on; "" in the process
	own     bool               // made by a handler of this instance, which is closing
	entered bool               // it has reached the endpoint
	queued  bool               // it was not handled at once
	patient bool               // it could wait, see gate
	size    int                // in bytes, as it came from the broker
	kept    *unfinishedRequest // if it has several parts: until the first is acked, and again once all have come; else nil
	match                      // the endpoint that serves it, once found

	given *given // Go values of a caller in the process; nil when the request was written

	*arrival
	response wire.Response // what a function endpoint has answered
	lent     bool          // response, to a caller in the process
}

// arrival is the part of a request that a handler may keep: its context, and what that refers to.
type arrival struct {
	serving serving                 // the context of the handler
	read    wire.Request            // what Request points to
	fields  [usualFields]wire.Field // of read, unless it has more
}

// subscription says why a message was delivered. The zero value stands for messages to this very instance.
type subscription struct {
	endpoint *endpoint
	everyone bool            // for requests of the framework to every instance
	subject  string          // of its address, if it has but one; else ""
	address  subject.Address // that address
	match    match           // what serves it
}

func (s *subscription) into(c *Conn) receiver {
	return func(message *nats.Msg) *incoming { return c.receiveRequest(message, s) }
}

// brings says whether a message for the endpoint found is to be handled when it comes through s. Where patterns overlap,
// the broker delivers one copy for the queue and one for each subscription without a queue: exactly one of them counts.
func (s *subscription) brings(found *endpoint) bool {
	if s.endpoint == nil || s.endpoint == found {
		return true
	}
	return s.endpoint.queue && found.queue
}

// settle notes the address if there is but one, and its route. Nothing that is registered later can take precedence: no path
// is more specific than one without parameters, and no method than one that is named.
func (s *subscription) settle(c *Conn, host string, route restmap.Route) {
	if route.Method == anyMethod || hasParameters(route.Pattern) {
		return
	}
	address := subject.Address{Port: s.endpoint.Port, Host: host, Method: route.Method, Path: route.Pattern.Example()}
	to, err := address.Subject(c.plane)
	if found := c.routerOf(s.endpoint).find(address); err == nil && found.endpoint == s.endpoint {
		s.subject, s.address, s.match = to, address, found
	}
}

// plain says whether a request is for the only address there is, spelled exactly like it.
func (s *subscription) plain(request *wire.Request, published string) bool {
	return s.subject != "" && published == s.subject && request.Method == s.address.Method &&
		request.Host == s.address.Host && pathOf(request.Target) == s.address.Path
}

// ofFramework says whether it brings only requests of the framework itself.
func (s *subscription) ofFramework() bool {
	return s.everyone || s.endpoint != nil && s.endpoint.Port == controlPort
}

// prepare makes the context of the handler: it ends with the time budget, or sooner when the caller leaves.
func (in *incoming) prepare(c *Conn) {
	budget := in.Request.TimeBudget
	if longest := in.endpoint.timeBudget; longest > 0 {
		budget = min(budget, longest)
	}
	in.began = time.Now()
	in.serving.conn, in.serving.request, in.serving.deadline = c, in.Request, in.began.Add(budget)
}
