package bus

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/busline/busline/bus/wire"
)

// receive answers one request: ack first, then either a refusal or what the handler says. It runs on the
// goroutine that reads from the broker, up to the point where the handler starts on one of its own.
// A fault is what was found wrong with the message before.
func (c *Conn) receive(in *incoming, fault error) {
	if fault == nil {
		if !in.found() {
			in.match = c.router.find(in.address)
		}
		if in.found() && !in.through.brings(in.endpoint) {
			return
		}
	}
	fault = c.objection(in, fault)
	inParts := in.request.Fragment.IsPart()
	if inParts {
		fault = c.unfinished.begin(in, fault) // before the ack, which brings the other parts
	}
	c.acknowledge(in)
	if fault == nil && !inParts {
		fault = c.start(in)
	}
	if fault != nil {
		c.respond(in, c.refuse(in, fault))
	}
}

// objection says why a request is not even to be started.
func (c *Conn) objection(in *incoming, fault error) error {
	switch {
	case fault != nil:
		return unsent(fault)
	case in.request.TimeBudget <= 0:
		return newError(http.StatusGatewayTimeout, NotExecuted, ErrTimeout, "the time budget was spent before the request arrived")
	case in.request.CallDepth > wire.MaxCallDepth:
		return newError(http.StatusLoopDetected, NotExecuted, nil, "calls are nested more than %d deep", wire.MaxCallDepth)
	case !in.found():
		return c.notServed(in.address)
	default:
		return c.limitMessage(in.request.Body)
	}
}

// start runs the handler on a goroutine of its own, if there is room for it.
func (c *Conn) start(in *incoming) error {
	room := c.room(in.endpoint)
	switch c.admit(room, in) {
	case gateFull:
		refused := newError(http.StatusServiceUnavailable, NotExecuted, nil, "too busy: as many handlers run as are allowed")
		refused.busy = true
		return refused
	case gateShut:
		return newError(http.StatusServiceUnavailable, NotExecuted, ErrClosed, "the instance is closing")
	default:
		in.prepare(c)
		c.running.add(&in.serving) // not later: the caller may have its ack already, and cancel
		go c.work(in, room)
		return nil
	}
}

// work handles a request, whose room was taken.
func (c *Conn) work(in *incoming, room *gate) {
	defer room.leave()
	in.joinParts()
	c.handle(in, room)
}

// admit lets a request in. One that a handler of this instance makes is part of what that handler does.
func (c *Conn) admit(room *gate, in *incoming) admission {
	if in.own {
		room.accompany()
		return admitted
	}
	return room.enter()
}

func (c *Conn) room(e *endpoint) *gate {
	if e.port == controlPort {
		return c.controls
	}
	return c.handlers
}

// handle runs the handler and answers, whatever the handler does: return, panic, or exit its goroutine.
func (c *Conn) handle(in *incoming, room *gate) {
	var response *wire.Response // none: the handler did not return
	defer func() {
		if response == nil {
			response = c.crashed(in, recover())
		}
		c.running.remove(&in.serving)
		in.freeParts()
		room.rest() // before the caller can make its next call
		c.awaitBroker(in)
		c.respond(in, response)
	}()
	answer, err := c.run(in)
	if err != nil {
		answer = c.refuse(in, err)
	}
	if in.request.Method == http.MethodHead {
		answer.Body = nil
	}
	response = answer
}

// run lets the handler see whoever may call it.
func (c *Conn) run(in *incoming) (*wire.Response, error) {
	if err := c.authorize(&in.serving, in.endpoint); err != nil {
		return nil, err
	}
	return in.endpoint.run(&in.serving, in)
}

// crashed returns the response for a handler that panicked, with a log line that has the stack, or that exited its
// goroutine, in which case there is no reason.
func (c *Conn) crashed(in *incoming, reason any) *wire.Response {
	if reason == nil {
		return c.refuse(in, errors.New("the handler exited its goroutine"))
	}
	c.logger.Error().Str("endpoint", in.endpoint.name()).Str("msgId", in.request.MsgID).
		Str("panic", fmt.Sprint(reason)).Bytes("stack", debug.Stack()).Msg("handler panicked")
	return c.refusal(in, fmt.Errorf("the handler panicked: %v", reason)).response()
}
