package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"

	"github.com/busline/busline/bus/wire"
)

// serverChain is what a request passes through to its endpoint. The order is documented at [Interceptor].
func (c *Conn) serverChain(e *endpoint) (CallFunc, error) {
	inner, err := surround(e.serve, e.interceptors, "bus.Intercept")
	if err != nil {
		return nil, err
	}
	if inner, err = c.intercepted(inner); err != nil {
		return nil, err
	}
	return compose(inner, c.tracing.intercept, c.observe(c.measureServed(e), c.logServed), c.recovery, answered, c.limitResponseSize, checkClaims(e), limitRequest(e)), nil
}

// intercepted puts the interceptors of the connection around a handler.
func (c *Conn) intercepted(inner CallFunc) (CallFunc, error) {
	return surround(inner, c.interceptors, "bus.WithInterceptors")
}

// controlChain is what a request of the framework itself passes through. It is the same for all connections, which share
// such endpoints.
func controlChain(e *endpoint) CallFunc { return compose(e.serve, checkClaims(e), limitRequest(e)) }

// serve is the end of the chain. x.crashed tells what is deferred around it that it did not return.
func (e *endpoint) serve(ctx context.Context, x *Exchange) (err error) {
	x.crashed, x.in.entered = true, true
	x.Response, err = e.run(ctx, x.in)
	x.crashed = false
	return err
}

// pass sends a request through the chain of its endpoint.
func (in *serverCall) pass() (*wire.Response, error) {
	in.Side, in.Endpoint, in.in = ServerSide, &in.endpoint.Endpoint, in
	if err := in.endpoint.chain(&in.serving, &in.Exchange); err != nil {
		return nil, in.failed(err)
	}
	return in.Response, nil
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

// clientChain is what a call passes through onto the bus.
func (c *Conn) clientChain() (CallFunc, error) {
	inner, err := c.intercepted(c.leave)
	if err != nil {
		return nil, err
	}
	return compose(inner, addFields, c.tracing.intercept, c.observe(c.measureMade, c.logMade), answered), nil
}

// leave is the end of the chain.
func (c *Conn) leave(ctx context.Context, x *Exchange) error {
	call, fields := x.out, outgoingFields(ctx)
	if err := fields.refusal(); err != nil {
		return err
	}
	call.addFields(fields)
	again := call.left
	call.ran = call.ran || again && x.mayHaveRun()
	call.left, call.absent = true, false
	x.Response, call.latest.err = c.carry(ctx, call, again)
	call.latest.response = x.Response
	if call.ran {
		return x.doubt()
	}
	return call.latest.err
}

func (c *Conn) carry(ctx context.Context, request *clientCall, again bool) (_ *wire.Response, err error) {
	if request.carry != nil {
		return nil, request.carry(ctx)
	}
	if again {
		if request, err = c.anew(request); err != nil {
			return nil, err
		}
	}
	response, err := c.roundTrip(ctx, request)
	if failed, ok := errors.AsType[*Error](err); ok && failed.TraceID == "" {
		failed.TraceID = traceIDOf(request.Header)
	}
	return response, err
}

// anew returns a copy of a request that an interceptor sends again. A handler that was given Go values may still fill in
// the results of the first attempt, so this one and its answer travel as text.
func (c *Conn) anew(request *clientCall) (*clientCall, error) {
	err := c.write(request)
	again := *request
	again.Header = slices.Clip(again.Header)
	return &again, err
}

// call makes a unicast call, through the interceptors. It counts once, whatever they do with it.
func (c *Conn) call(ctx context.Context, request *clientCall) (*wire.Response, error) {
	c.made.Add(1)
	x := request.exchange()
	if err := c.calling(ctx, x); err != nil {
		if request.unwritable {
			c.made.Add(-1) // as if its arguments had been refused before, as they are where all are written
		}
		return nil, x.failed(err)
	}
	return x.Response, nil
}

// limitRequest makes the [Interceptor] that refuses a request body that is too large for the endpoint. Other limits are
// held before: how many handlers run, how large a message is, and how long a handler takes, which its context tells.
func limitRequest(e *endpoint) Interceptor {
	return func(next CallFunc) CallFunc {
		return func(ctx context.Context, x *Exchange) error {
			if err := limitBody(x.Request.Body, e.bodyLimit); err != nil {
				return err
			}
			return next(ctx, x)
		}
	}
}

func limitBody(body []byte, limit int) error {
	if len(body) <= limit {
		return nil
	}
	return newError(http.StatusRequestEntityTooLarge, ExecutedNo, nil,
		"a body of %d bytes exceeds this endpoint's limit of %d", len(body), limit)
}

// crashed is what became of a handler that panicked, or exited its goroutine by runtime.Goexit or a failing test.
type crashed struct {
	reason string // that of the panic
	exited bool   // there was none
	stack  []byte
}

func (c *crashed) Error() string {
	if c.exited {
		return "the handler exited its goroutine"
	}
	return "the handler panicked: " + c.reason
}

// errAborted is what became of a handler that panicked with [http.ErrAbortHandler], as httputil.ReverseProxy does when who it
// asks goes away: it means to give no answer, and net/http does not log it either.
var errAborted = fmt.Errorf("the handler gave no answer: %w", http.ErrAbortHandler)

// crash tells how a handler has ended that did not return. The reason is that of the panic, nil for none.
func crash(reason any) error {
	switch reason {
	case nil:
		return &crashed{exited: true, stack: debug.Stack()}
	case http.ErrAbortHandler:
		return errAborted
	default:
		return &crashed{reason: fmt.Sprint(reason), stack: debug.Stack()}
	}
}

// recovery makes an error of a panic. It is an [Interceptor]; those that stand around it see the error. When the goroutine
// exits nothing can be returned: they are told by the exchange, and the request is answered by who started the handler.
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
		returned, x.crashed = true, false // or one that stands inside has made something of it
		return err
	}
}
