package bus

import (
	"time"

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
	everyone bool           // for requests of the framework to every instance
	route    *restmap.Route // if it has but one address, the route of the endpoint; else nil
}

// subscriptionOf returns that to a route of an endpoint. If that has but one address, it is known what serves it: nothing that
// is registered later can take precedence, as no path is more specific than one without parameters, and no method than one that
// is named.
func subscriptionOf(e *endpoint, route *restmap.Route) subscription {
	if route.Method == anyMethod || hasParameters(route.Pattern) {
		return subscription{endpoint: e}
	}
	return subscription{endpoint: e, route: route}
}

// brings says whether a message for the endpoint found is to be handled when it comes through s. Where patterns overlap,
// the broker delivers one copy for the queue and one for each subscription without a queue: exactly one of them counts.
func (s *subscription) brings(found *endpoint) bool {
	if s.endpoint == nil || s.endpoint == found {
		return true
	}
	return s.endpoint.queue && found.queue
}

// address returns the only address there is.
func (s *subscription) address(c *Conn) subject.Address {
	return subject.Address{Port: s.endpoint.Port, Host: s.endpoint.hostOf(c), Method: s.route.Method, Path: s.endpoint.Path}
}

// match returns what serves it, the zero value if there are several.
func (s *subscription) match() match {
	if s.route == nil {
		return match{}
	}
	return match{spot: spot{s.endpoint, s.route}}
}

// plain says whether a request, which was published to the only address there is, also spells it exactly like that.
func (s *subscription) plain(c *Conn, request *wire.Request) bool {
	return s.route != nil && request.Method == s.route.Method &&
		request.Host == s.endpoint.hostOf(c) && pathOf(request.Target) == s.endpoint.Path
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
