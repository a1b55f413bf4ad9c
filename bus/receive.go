package bus

import (
	"net/http"

	"github.com/busline/busline/bus/wire"
)

// receive takes one request in: it acks it, and then refuses it or admits it to the handlers. If it returns true, the
// caller has to run the handler now, with do, on a goroutine that may block. fault is what was already found wrong with the
// message.
func (c *Conn) receive(in *incoming, fault error) (taken bool) {
	if fault == nil {
		if !in.found() {
			in.match = c.router.find(in.Address)
		}
		switch {
		case in.through.everyone && (!in.found() || !in.endpoint.onAll):
			in.match, fault = match{}, absent(in.Address, nil)
		case in.found() && !in.through.brings(in.endpoint):
			return false
		}
	}
	fault = c.objection(in, fault)
	inParts := in.Request.Fragment.IsPart()
	if inParts {
		fault = c.unfinished.begin(in, fault) // before the ack, which brings the other parts
	}
	c.acknowledge(in)
	if inParts {
		c.unfinished.acked(in)
	}
	if fault == nil && !inParts {
		fault = c.takeIn(in)
	}
	if fault != nil {
		c.turnAway(in, fault)
	}
	return fault == nil && !inParts
}

// objection says why a request must not even be started.
func (c *Conn) objection(in *incoming, fault error) error {
	switch {
	case fault != nil:
		return unsent(fault)
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
	case gateFull:
		return tooBusy(ExecutedNo, "too busy: the limit of concurrent handlers is reached")
	case gateShut:
		return newError(http.StatusServiceUnavailable, ExecutedNo, ErrClosed, "the instance is closing")
	default:
		return nil
	}
}

// do handles a request that was taken in.
func (in *incoming) do() {
	c := in.serving.conn
	room := c.room(in.endpoint)
	defer room.leave()
	c.handle(in, room)
	c.link.reuse(in)
}

// admit lets a request in. One that a handler of this instance has made counts as part of that handler.
func (c *Conn) admit(in *incoming) admission {
	room := c.room(in.endpoint)
	if in.own {
		room.accompany()
		return admitted
	}
	return room.enter()
}

func (c *Conn) room(e *endpoint) *gate {
	if e.Port == controlPort {
		return c.controls
	}
	return c.handlers
}

// rest makes room for another request.
func (in *incoming) rest(room *gate) {
	if in.patient {
		room.yield()
	} else {
		room.rest()
	}
}

// handle runs the handler and answers, whatever the handler does: return, panic, or exit its goroutine.
func (c *Conn) handle(in *incoming, room *gate) {
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
