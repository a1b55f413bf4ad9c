package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// incoming is a request that has reached this instance, and the way back to its caller.
type incoming struct {
	request *wire.Request
	address subject.Address
	through *subscription
	back    replier
	own     bool      // made by a handler of this instance, which is closing
	size    int       // in bytes, as it came from the broker
	parts   *assembly // of a request that came in parts, until it is handled
	held    *holding  // the memory that they take; nil for none
	match             // the endpoint that serves it, once found
}

// subscription says why a message was delivered. The zero value stands for messages to this very instance.
type subscription struct {
	endpoint *endpoint
}

func (s *subscription) into(c *Conn) nats.MsgHandler {
	return func(message *nats.Msg) { c.receiveRequest(message, s) }
}

// brings says whether a message that belongs to found is to be handled when it comes through s. Where patterns
// overlap, the broker delivers one copy for the queue and one for each subscription without a queue: exactly
// one of them counts.
func (s *subscription) brings(found *endpoint) bool {
	if s.endpoint == nil || s.endpoint == found {
		return true
	}
	return s.endpoint.queue && found.queue
}

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
		ctx, s := c.servingContext(in) // not later: the caller may have its ack already, and cancel
		go func() {
			defer room.leave()
			in.joinParts()
			c.handle(ctx, s, in, room)
		}()
		return nil
	}
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
func (c *Conn) handle(ctx context.Context, s *serving, in *incoming, room *gate) {
	var response *wire.Response // none: the handler did not return
	defer func() {
		if response == nil {
			response = c.crashed(in, recover())
		}
		c.running.remove(s)
		in.freeParts()
		room.rest() // before the caller can make its next call
		c.awaitBroker(in, s.deadline)
		c.respond(in, response)
	}()
	answer, err := c.run(ctx, s, in)
	if err != nil {
		answer = c.refuse(in, err)
	}
	if in.request.Method == http.MethodHead {
		answer.Body = nil
	}
	response = answer
}

// run lets the handler see whoever may call it.
func (c *Conn) run(ctx context.Context, s *serving, in *incoming) (*wire.Response, error) {
	if err := c.authorize(ctx, s, in.endpoint); err != nil {
		return nil, err
	}
	return in.endpoint.run(ctx, in)
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

// refuse turns an error into the response for a request, and logs it: as an error what nobody meant to happen, for
// debugging all else.
func (c *Conn) refuse(in *incoming, err error) *wire.Response {
	failed := c.refusal(in, err)
	level := zerolog.DebugLevel
	if failed.Status == http.StatusInternalServerError {
		level = zerolog.ErrorLevel
	}
	c.logger.WithLevel(level).Str("caller", in.request.FromHost).Str("msgId", in.request.MsgID).
		Str("method", in.request.Method).Str("path", in.address.Path).Int("status", failed.Status).
		Str("detail", failed.Detail).Msg("request failed")
	return failed.response()
}

// refusal completes an error: it names the path, and this instance unless another one failed.
func (c *Conn) refusal(in *incoming, err error) *Error {
	failed := *asError(err)
	failed.sentBy(c, in.request)
	if failed.Instance == "" {
		failed.Instance = in.address.Path
	}
	return &failed
}

// notServed tells a caller that has reached this instance what it should have asked for.
func (c *Conn) notServed(address subject.Address) error {
	return absent(address, c.router.methods(address.Port, address.Path))
}

// absent is the error for a path of a host that is there: 405 with what is served, or 404.
func absent(address subject.Address, methods []string) *Error {
	if len(methods) == 0 {
		return newError(http.StatusNotFound, NotExecuted, nil, "%s serves nothing at %s on port %d", address.Host, address.Path, address.Port)
	}
	allow := strings.Join(methods, ", ")
	refused := newError(http.StatusMethodNotAllowed, NotExecuted, nil, "%s is served under %s, not %s", address.Path, allow, address.Method)
	refused.allow = allow
	return refused
}

// acknowledge tells the caller that its request has arrived, before any queueing.
func (c *Conn) acknowledge(in *incoming) {
	if err := c.reply(in, &wire.Response{Status: http.StatusAccepted, OpCode: wire.OpAck}); err != nil {
		c.logLost(in, "ack", err)
	}
}

// respond sends the response. One that the broker will not carry is replaced by one that says so.
func (c *Conn) respond(in *incoming, response *wire.Response) {
	response.OpCode = wire.OpRes
	err := c.reply(in, response)
	switch status := StatusOf(err); status {
	case http.StatusRequestHeaderFieldsTooLarge:
		status = http.StatusInternalServerError // it is not the caller's head
		fallthrough
	case http.StatusRequestEntityTooLarge:
		response = c.refuse(in, newError(status, WasExecuted, err, "the response cannot travel: %s", asError(err).Detail))
		response.OpCode = wire.OpRes
		err = c.reply(in, response)
	}
	if err != nil {
		c.logLost(in, "response", err)
	}
}

func (c *Conn) logLost(in *incoming, what string, err error) {
	level := zerolog.WarnLevel
	if in.address.Port == controlPort {
		level = zerolog.DebugLevel // hardly anybody waits for it
	}
	c.logger.WithLevel(level).Str("msgId", in.request.MsgID).Str("caller", in.request.FromHost).Err(err).Msg(what + " lost")
}

func (c *Conn) reply(in *incoming, response *wire.Response) error {
	response.FromHost, response.FromID, response.MsgID, response.Queue = c.host, c.id, in.request.MsgID, c.host
	if in.found() {
		response.Queue = in.endpoint.queueName(c)
	}
	if err := fits(0, response.Header); err != nil {
		return err
	}
	if err := c.limitMessage(response.Body); err != nil {
		return err
	}
	return in.back.reply(response)
}

// servingContext is what the handler gets: it knows the caller, and ends with the time budget, or sooner when the caller
// leaves. Whoever asks for it has to remove s from those that run.
func (c *Conn) servingContext(in *incoming) (ctx context.Context, s *serving) {
	budget := in.request.TimeBudget
	if longest := in.endpoint.timeBudget; longest > 0 {
		budget = min(budget, longest)
	}
	deadline := time.Now().Add(budget)
	s = &serving{Context: c.base, conn: c, request: in.request, deadline: deadline}
	ctx, s.end = context.WithCancelCause(s)
	ctx, s.stop = context.WithDeadline(ctx, deadline)
	c.running.add(s)
	return ctx, s
}
