package bus

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// serverCall is a request as its interceptors and its handler see it; the server receives and answers what it embeds.
// Everything that a request needs is in one piece of memory.
type serverCall struct {
	server.Incoming
	conn    *Conn
	seen    Exchange // as interceptors see it
	entered bool     // it has reached the endpoint

	caller   client.Waiting // of a caller in the process
	local    *localValues   // Go values of a caller in the process; nil when the request was written
	response wire.Response  // what a function endpoint has answered
	escapes  bool           // response, to a caller in the process
}

// endpoint returns what serves the request, nil before it is found.
func (in *serverCall) endpoint() *endpoint {
	if !in.IsFound() {
		return nil
	}
	e, _ := in.Endpoint.Value.(*endpoint)
	return e
}

// newServerCall returns memory for a request, which is to be parsed into Read.
func (c *Conn) newServerCall() *serverCall {
	in := unused[serverCall](&c.shared.spare.incoming)
	in.Reset()
	in.conn, in.Values = c, in
	return in
}

// callOf returns the request that the server has received.
func callOf(received *server.Incoming) *serverCall {
	in, _ := received.Values.(*serverCall)
	if in.seen.Side == 0 {
		in.seen.Address, in.seen.Request, in.seen.began = in.Address, in.Request, in.Began
		in.seen.Side, in.seen.conn, in.seen.in = ServerSide, in.conn, in
	}
	return in
}

// service is a connection as its server calls it: what stands behind the endpoints.
type service struct{ conn *Conn }

// New returns memory for a request.
func (s service) New() *server.Incoming { return &s.conn.newServerCall().Incoming }

// Free takes back the memory of an answered request, unless code outside of this package may refer to it.
func (s service) Free(received *server.Incoming) {
	in := callOf(received)
	if in.endpoint().unseen && !in.seen.crashed && !in.escapes && !in.IsInParts() {
		escaping := in.Escaping
		if in.endpoint().mapped.Method.TakesContext {
			escaping = nil
		} else {
			*escaping = server.Escaping{}
		}
		*in = serverCall{}
		in.Escaping = escaping
		s.conn.shared.spare.incoming.Put(in)
	}
}

// Serve passes a request through the chain of its endpoint.
func (s service) Serve(received *server.Incoming) *wire.Response {
	in := callOf(received)
	x := &in.seen
	x.began, x.Endpoint, x.Route = in.Began, &in.endpoint().Endpoint, in.endpoint().Path
	if err := in.endpoint().chain(&in.Handler, x); err != nil {
		response := s.conn.completeError(in, x.failed(err)).response()
		if tooLarge := s.conn.server.LimitResponse(response); tooLarge != nil { // its details are
			return s.Unsendable(received, tooLarge)
		}
		in.checkResponse(response)
		return response
	}
	in.checkResponse(x.Response)
	return x.Response
}

// Crashed returns the response to a request whose chain did not return.
func (s service) Crashed(received *server.Incoming, reason any) *wire.Response {
	in := callOf(received)
	return s.conn.logAndEncode(in, in.seen.failed(crash(reason)))
}

// Encode returns an error as a response.
func (s service) Encode(received *server.Incoming, err error) *wire.Response {
	return s.conn.completeError(callOf(received), err).response()
}

// Reject counts a request that is not handled, and returns the answer.
func (s service) Reject(received *server.Incoming, why error) *wire.Response {
	return s.conn.countRejected(callOf(received), why)
}

// Unsendable returns the response in place of one that is too large.
func (s service) Unsendable(received *server.Incoming, why error) *wire.Response {
	return s.conn.logAndEncode(callOf(received), cannotBeSent(why))
}

// NotServed returns the error for a path that is not served, or under other methods.
func (s service) NotServed(address subject.Address, methods []string) error {
	meant := ""
	if len(methods) == 0 {
		meant = s.conn.registry.pathLike(address.Port, address.Path)
	}
	return notFoundError(address, methods, meant)
}

// CheckToken returns an error for a request without a token or a proof, for an endpoint that asks for one.
func (s service) CheckToken(request *wire.Request, e *server.Endpoint) error {
	asked, _ := e.Value.(*endpoint)
	if err := s.conn.callers.missing(request, asked); err != nil {
		return err
	}
	return s.conn.tokenMissing(request, asked)
}

// Verify returns an error for a token or a proof that is bad, or gives no access to an endpoint. Neither ends the
// process.
func (s service) Verify(ctx context.Context, request *wire.Request, e *server.Endpoint) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = crash(reason)
		}
	}()
	asked, _ := e.Value.(*endpoint)
	err = s.conn.callers.check(ctx, request, asked.hostOf(s.conn), asked, time.Now())
	if err == nil && request.Actor != "" {
		_, err = s.conn.identify(ctx, request.Actor, asked)
	}
	return err
}

// Lost logs an ack or a response that was not sent.
func (s service) Lost(in *server.Incoming, what string, err error) { s.conn.logLost(in, what, err) }

// Announced is for [server.Service].
func (s service) Announced(by *wire.Request, stays bool) { s.conn.announced(by, stays) }

// Flooded is for [server.Service].
func (s service) Flooded() {
	s.conn.client.ForgetOthers()
	s.conn.others.watchers.tell(Announcement{Missed: true})
	s.conn.log(s.conn.limitedLine(zerolog.WarnLevel, "too many announcements"),
		"too many announcements of other instances: some are not read, and multicasts may take 250 ms longer")
}

// Dropped counts and logs a message that cannot be received.
func (s service) Dropped(subject string, err error) { s.conn.drop(subject, err) }

// logAndEncode turns an error into the response for a request, and logs it.
func (c *Conn) logAndEncode(in *serverCall, err error) *wire.Response {
	failed := c.completeError(in, err)
	line := c.loggerIn(&in.Handler).WithLevel(in.levelOf(failed)).EmbedObject(requestFields{callFields{&in.seen,
		failed.Status}}).
		EmbedObject(failureFields{failed.Detail, failed.Type})
	if handler, ok := errors.AsType[*crashed](err); ok {
		line = line.Bytes("stack", handler.stack)
	}
	c.log(line, "request failed")
	return failed.response()
}

// completeError completes an error: it names the path, and this instance unless another one failed.
func (c *Conn) completeError(in *serverCall, err error) *Error {
	failed := *asError(err)
	failed.TraceID = in.seen.TraceID()
	failed.sentBy(c, in.Request)
	if failed.Path == "" {
		failed.Path = in.Address.Path
	}
	c.logLeftOut(&failed)
	return &failed
}

// limitResponse is the [Interceptor] that makes an error of a response that is too large, so that the interceptors
// around it see what the caller gets. What an error becomes is measured in service.Serve.
func limitResponse(next CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) error {
		err := next(ctx, x)
		if err == nil && x.Response != nil {
			if tooLarge := x.in.conn.server.LimitResponse(x.Response); tooLarge != nil {
				return cannotBeSent(tooLarge)
			}
		}
		return err
	}
}

// cannotBeSent is what the caller gets in place of a response that is too large: it has not made it so.
func cannotBeSent(why error) *Error {
	return hasRun(http.StatusInternalServerError, nil, "the response cannot be sent: %s", asError(why).Detail)
}

func (c *Conn) logLost(in *server.Incoming, what string, err error) {
	level := zerolog.WarnLevel
	if in.Address.Port == subject.ControlPort {
		level = zerolog.DebugLevel // hardly any caller waits for it
	}
	c.log(c.limitedLine(level, what+": "+err.Error()).Str("msgId", in.Request.MsgID).Str("caller",
		in.Request.FromHost).Err(err), what+" lost")
}

// countRejected counts a request that is not handled, and returns the answer. A request whose caller has left does not
// count, as the caller does not wait for the answer.
func (c *Conn) countRejected(in *serverCall, why error) *wire.Response {
	response := c.logAndEncode(in, why)
	if in.Address.Port != subject.ControlPort && !errors.Is(why, ErrCallerLeft) {
		c.telemetry.rejected.of(response.Status).Add(1)
	}
	return response
}
