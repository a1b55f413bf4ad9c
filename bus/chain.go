package bus

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// serverChain returns the interceptors for a request, with the endpoint as the innermost handler. [Interceptor]
// documents the order.
func (c *Conn) serverChain(e *endpoint) (CallFunc, error) {
	inner, err := surround(e.serve, e.interceptors, "bus.Intercept")
	if err != nil {
		return nil, err
	}
	if inner, err = c.intercepted(inner); err != nil {
		return nil, err
	}
	inner = compose(inner, c.observe(c.measureServed(e), c.logServed), c.recovery, answered, limitResponse, checkClaims(e),
		limitRequest(e))
	return c.observed(inner)
}

// intercepted wraps a handler in the interceptors of the connection.
func (c *Conn) intercepted(inner CallFunc) (CallFunc, error) {
	return surround(inner, c.config.interceptors, "bus.WithInterceptors")
}

// observed wraps a handler in the observers of the connection.
func (c *Conn) observed(inner CallFunc) (CallFunc, error) {
	return surround(inner, c.config.observers, "bus.WithObservers")
}

// controlChain returns the interceptors for a request on port 888. It refers to no connection: all connections share
// these endpoints.
func controlChain(e *endpoint) CallFunc {
	return compose(e.serve, limitResponse, checkClaims(e), limitRequest(e))
}

// serve is the innermost handler of the server chain. While it runs, x.crashed is set: deferred functions around it see
// that it has not returned.
func (e *endpoint) serve(ctx context.Context, x *Exchange) (err error) {
	x.crashed, x.in.entered = true, true
	x.Response, err = e.run(ctx, x.in)
	x.crashed = false
	return err
}

var errNoAnswer = errors.New("an interceptor returned neither an error nor a response")

// answered is the [Interceptor] that returns an error if there is neither an error nor a response.
func answered(next CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) error {
		err := next(ctx, x)
		if err == nil && x.Response == nil && (x.out == nil || x.out.carry == nil) {
			return errNoAnswer
		}
		return err
	}
}

// clientChain returns the interceptors for a call, with leave as the innermost handler.
func (c *Conn) clientChain() (CallFunc, error) {
	inner, err := c.intercepted(c.leave)
	if err != nil {
		return nil, err
	}
	if inner, err = c.observed(compose(inner, c.observe(c.measureMade, c.logMade), answered)); err != nil {
		return nil, err
	}
	return addFields(inner), nil
}

// leave is the innermost handler of the client chain: it sends the call.
func (c *Conn) leave(ctx context.Context, x *Exchange) error {
	call, fields := x.out, callctx.FieldsOf(ctx)
	if name, isRefused := fields.Refused(); isRefused {
		return notRun(http.StatusBadRequest, nil,
			"the header field %q cannot be set with bus.WithOutgoingHeader: it is the bus that sets it, "+
				"or it is no name of a field", name)
	}
	call.addFields(fields)
	again := call.left
	call.closeStream()
	call.ran = call.ran || again && x.mayHaveRun()
	call.left, call.NotServed = true, false
	call.attempts++
	now := x.began
	if again {
		now = time.Now()
		c.nameTrace(x)
	}
	if err := cmp.Or(actFor(ctx, call), c.callers.prove(call, now)); err != nil {
		return err
	}
	x.Response, call.latest.err = c.carry(ctx, call, again)
	call.latest.response = x.Response
	return x.doubt(call.latest.err)
}

// nameTrace has the request of a call name its trace, if calls are remembered: further attempts have message ids of
// their own.
func (c *Conn) nameTrace(x *Exchange) {
	if recorder := c.recorder(x); recorder != nil {
		recorder.NameTrace(x)
	}
}

// carry sends a call, and returns an *[Error] when it gets no response.
func (c *Conn) carry(ctx context.Context, call *clientCall, again bool) (response *wire.Response, err error) {
	sent := call
	switch {
	case call.carry != nil:
		err = call.carry(ctx)
	case again:
		if sent, err = c.anew(call); err == nil {
			response, err = c.client.Call(ctx, &sent.Outgoing)
		}
	default:
		response, err = c.client.Call(ctx, &sent.Outgoing)
	}
	call.NotServed = sent.NotServed
	if call.carry == nil {
		c.callees.note(call.Address, response)
	}
	if err == nil {
		return response, nil
	}
	failed := asError(err)
	if failed.TraceID == "" && call.carry == nil {
		failed.TraceID = call.seen.TraceID()
	}
	return nil, failed
}

// anew returns a copy of a request that an interceptor sends again. A handler that received Go values may still fill in
// the results of the first attempt, so the copy and its answer travel as text.
func (c *Conn) anew(request *clientCall) (*clientCall, error) {
	if request.Stream != nil {
		return request, mayHaveRun(http.StatusServiceUnavailable, nil,
			"a request whose body is a stream cannot be sent again")
	}
	err := c.write(request)
	again := *request
	again.Values = &again
	again.Header = slices.Clip(again.Header)
	return &again, err
}

// twin is a second attempt at a call, beside the first. It implements [feature.Twin]. The exchange of the first attempt
// and its clientCall belong to the caller's goroutine, so the twin has a copy of both.
type twin struct {
	first  *Exchange
	seen   Exchange
	call   clientCall    // of seen; zero in a test without a bus
	takers client.Takers // of the first attempt
	ends   time.Time
}

func newTwin(ctx context.Context, x *Exchange) *twin {
	if x.out == nil {
		request := *x.Request
		request.Header = slices.Clip(request.Header)
		t := &twin{first: x, seen: *x, ends: time.Now().Add(callctx.Budget(ctx))}
		t.seen.Request, t.seen.Response = &request, nil
		return t
	}
	x.conn.nameTrace(x)
	t := unused[twin](&x.conn.shared.spare.twins)
	t.first, t.seen, t.call, t.ends = x, *x, *x.out, time.Now().Add(callctx.Budget(ctx))
	t.call.Values, t.call.Header = &t.call, slices.Clip(t.call.Header)
	t.call.ran = t.call.ran || t.call.left && x.mayHaveRun()
	t.call.left, t.call.attempts, t.call.latest = false, 0, ended{}
	t.seen.out, t.seen.Request, t.seen.Response = &t.call, &t.call.Request, nil
	x.out.Takers = &t.takers
	return t
}

func (t *twin) Exchange() any { return &t.seen }

func (t *twin) Deadline() time.Time { return t.ends }

func (t *twin) Takers() []string { return t.takers.IDs() }

// Address writes the arguments as text, as the first attempt may fill in Go values at the same time.
func (t *twin) Address(id string) error {
	if t.seen.out == nil {
		return nil
	}
	if err := t.first.conn.write(&t.call); err != nil {
		return err
	}
	t.call.Address.Host, t.call.Host = id+"."+t.call.Address.Host, id+"."+t.call.Host
	t.call.Subject, t.call.Head = "", nil
	return nil
}

func (t *twin) Settle(first, second error, isSecond bool) error {
	x, out, err := t.first, t.first.out, first
	if isSecond {
		x.Response, err = t.seen.Response, second
	}
	if out == nil {
		return err
	}
	out.Takers = nil
	loser := &t.seen
	if isSecond {
		loser = x
	}
	out.ran = out.ran || loser.out.left && loser.mayHaveRun()
	loser.out.closeStream()
	if isSecond {
		out.latest, out.NotServed, out.MsgID, out.local = t.call.latest, t.call.NotServed, t.call.MsgID, nil
	}
	out.left, out.attempts = out.left || t.call.left, out.attempts+t.call.attempts
	return x.doubt(err)
}

func (t *twin) Release() {
	if t.seen.out == nil {
		return
	}
	t.first.out.Takers = nil
	pool := &t.first.conn.shared.spare.twins
	t.first, t.seen, t.call = nil, Exchange{}, clientCall{}
	pool.Put(t)
}

// limitRequest returns the [Interceptor] that rejects a request body that is too large for the endpoint. Other code
// enforces the limits of running handlers, message size and handler time.
func limitRequest(e *endpoint) Interceptor {
	return func(next CallFunc) CallFunc {
		return func(ctx context.Context, x *Exchange) error {
			if err := limitBody(x.Request.Body, e.bodyLimit); err != nil {
				return err
			}
			if x.Request.Stream != nil {
				if err := e.limitStream(x); err != nil {
					return err
				}
			}
			return next(ctx, x)
		}
	}
}

func limitBody(body []byte, limit int) error {
	if len(body) <= limit {
		return nil
	}
	return notRun(http.StatusRequestEntityTooLarge, nil,
		"a body of %d bytes exceeds this endpoint's limit of %d", len(body), limit)
}

// limitStream limits a body that is a stream, one that announces too much before any of it is read. A function gets it
// in one piece.
func (e *endpoint) limitStream(x *Exchange) error {
	request, isWeb := x.Request, e.mapped.Style == restmap.Web
	limit := e.streamLimit
	if !isWeb {
		limit = int64(min(e.bodyLimit, x.in.conn.config.messageLimit))
	}
	switch {
	case limit > 0 && request.ContentLength > limit:
		return stream.TooLarge(request.ContentLength, int(limit))
	case isWeb && limit > 0:
		request.Stream = &limitedBody{ReadCloser: request.Stream, limit: limit, left: limit}
		return nil
	case isWeb:
		return nil
	}
	body, err := x.in.Collect(request.Stream, int(limit))
	if err != nil {
		return unsent(err)
	}
	request.Body, request.Stream = body, nil
	return nil
}

// tooLong is the error for a stream beyond the limit of its endpoint.
func tooLong(limit int64) *Error {
	return notRun(http.StatusRequestEntityTooLarge, nil,
		"a body of more than %d bytes exceeds this endpoint's limit of %d", limit, limit)
}

// limitedBody is a body that is a stream, up to a limit.
type limitedBody struct {
	io.ReadCloser

	limit, left int64
}

// Read reads as much as the limit allows.
func (b *limitedBody) Read(data []byte) (int, error) {
	if int64(len(data)) > b.left+1 {
		data = data[:b.left+1]
	}
	n, err := b.ReadCloser.Read(data)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, executed(tooLong(b.limit))
	}
	return n, err
}

// recovery is the [Interceptor] that turns a panic into an error, which the interceptors around it see. A goroutine
// that exits cannot return an error: then x.crashed is set, deferred functions see err == nil, and service.Crashed
// answers the request.
func (c *Conn) recovery(next CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) (err error) {
		returned := false
		defer func() {
			if returned {
				return
			}
			x.crashed = true
			if reason := recover(); reason != nil {
				err = executed(crash(reason))
			}
		}()
		err = next(ctx, x)
		returned, x.crashed = true, false // an interceptor inside may have recovered
		return err
	}
}
