package bus

import (
	"net/http"
	"time"

	"github.com/busline/busline/bus/internal/worker"
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
	patient bool               // it is an event, see worker.Limiter
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

// brings reports whether a message for the endpoint found is to be handled when it comes through s. Where patterns overlap,
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

// plain reports whether a request, which was published to the only address there is, also spells it exactly like that.
func (s *subscription) plain(c *Conn, request *wire.Request) bool {
	return s.route != nil && request.Method == s.route.Method &&
		request.Host == s.endpoint.hostOf(c) && pathOf(request.Target) == s.endpoint.Path
}

// ofFramework reports whether it brings only requests of the framework itself.
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

// receive takes one request in: it acks it, and then refuses it or admits it to the handlers. If it returns true, the
// caller has to run the handler now, with Do, on a goroutine that may block. err is what was already found wrong with the
// message.
func (c *Conn) receive(in *incoming, err error) (taken bool) {
	if err == nil {
		if !in.found() {
			in.match = c.router.find(in.Address)
		}
		switch {
		case in.through.everyone && (!in.found() || !in.endpoint.onAll):
			in.match, err = match{}, absent(in.Address, nil)
		case in.found() && !in.through.brings(in.endpoint):
			return false
		}
	}
	err = c.objection(in, err)
	inParts := in.Request.Fragment.IsPart()
	if inParts {
		err = c.unfinished.begin(in, err) // before the ack, which brings the other parts
	}
	c.acknowledge(in)
	if inParts {
		c.unfinished.acked(in)
	}
	if err == nil && !inParts {
		err = c.takeIn(in)
	}
	if err != nil {
		c.turnAway(in, err)
	}
	return err == nil && !inParts
}

// objection says why a request must not even be started.
func (c *Conn) objection(in *incoming, err error) error {
	switch {
	case err != nil:
		return unsent(err)
	case in.Request.TimeBudget <= 0:
		return newError(http.StatusGatewayTimeout, ExecutedNo, ErrTimeout, "the time budget was spent before the request arrived")
	case in.Request.CallDepth > wire.MaxCallDepth:
		return errTooDeep()
	case !in.found():
		return c.notServed(in.Address)
	case c.router.isDetour(in.Address, in.match):
		return absent(in.Address, nil)
	default:
		return c.limitMessage(in.Request.Body)
	}
}

func errTooDeep() *Error {
	return newError(http.StatusLoopDetected, ExecutedNo, nil, "calls are nested more than %d deep", wire.MaxCallDepth)
}

// takeIn admits a request to the handlers, or says why not.
func (c *Conn) takeIn(in *incoming) error {
	if err := c.letIn(in); err != nil {
		return err
	}
	in.prepare(c)
	c.link.running.add(&in.serving, in.endpoint.Port) // not later: the caller may have its ack by now, and cancel
	return nil
}

// letIn lets a request in, or says why not.
func (c *Conn) letIn(in *incoming) error {
	switch c.admit(in) {
	case worker.Full:
		return tooBusy(ExecutedNo, "too busy: the limit of concurrent handlers is reached")
	case worker.Closed:
		return newError(http.StatusServiceUnavailable, ExecutedNo, ErrClosed, "the instance is closing")
	default:
		return nil
	}
}

// Do handles a request that was taken in.
func (in *incoming) Do(queued bool) {
	in.queued = queued
	c := in.serving.conn
	room := c.room(in.endpoint)
	defer room.Done()
	c.handle(in, room)
	c.link.reuse(in)
}

// Urgent reports whether the framework itself asks: that does not wait for handlers.
func (in *incoming) Urgent() bool { return in.endpoint.Port == controlPort }

// admit lets a request in. One that a handler of this instance has made counts as part of that handler.
func (c *Conn) admit(in *incoming) worker.Outcome {
	room := c.room(in.endpoint)
	if in.own {
		room.AcquireNested()
		return worker.Admitted
	}
	return room.Acquire()
}

func (c *Conn) room(e *endpoint) *worker.Limiter {
	if e.Port == controlPort {
		return c.controls
	}
	return c.handlers
}

// rest makes room for another request.
func (in *incoming) rest(room *worker.Limiter) {
	if in.patient {
		room.ReleaseEvent()
	} else {
		room.Release()
	}
}

// handle runs the handler and answers, whatever the handler does: return, panic, or exit its goroutine.
func (c *Conn) handle(in *incoming, room *worker.Limiter) {
	var response *wire.Response // nil: the handler did not return
	defer func() {
		if response == nil {
			response = c.refuse(in, in.failed(crash(recover())))
		}
		c.link.running.remove(&in.serving)
		in.freeParts()
		in.rest(room) // before the caller can make its next call
		c.awaitBroker(in)
		c.respond(in, response)
	}()
	if why := in.late(); why != nil {
		response = c.turnedDown(in, why)
		return
	}
	in.joinParts()
	answer, err := in.pass()
	if err != nil {
		answer = c.refusal(in, err).response()
	}
	if in.Request.Method == http.MethodHead {
		answer.Body = nil
	}
	response = answer
}

// late says why a request is not handled although its turn has come: its caller does not wait for an answer any more. An
// instance that has too much to do would otherwise work in vain, and have even less time for the others. An event is handled
// all the same: nobody waits for that anyway.
func (in *incoming) late() error {
	switch {
	case !in.queued || in.endpoint.source != "":
		return nil
	case time.Since(in.began) >= in.Request.TimeBudget: // not the end of the context, which may be that of the endpoint
		return newError(http.StatusGatewayTimeout, ExecutedNo, ErrTimeout, "the time budget was spent while the request waited for its turn")
	case in.serving.left():
		return newError(http.StatusServiceUnavailable, ExecutedNo, ErrCallerLeft, "the caller left while the request waited for its turn")
	default:
		return nil
	}
}
