package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Interceptor wraps calls. It gets the next handler and returns the handler to run in its place, which sees each call
// before it is carried on and its outcome afterwards:
//
//	func announce(next bus.CallFunc) bus.CallFunc {
//		return func(ctx context.Context, call *bus.Exchange) error {
//			err := next(ctx, call)
//			fmt.Println(call.Method, call.Path, call.Status(err))
//			return err
//		}
//	}
//
// An interceptor is called once, at registration or at Connect. The handler that it returns has to be safe for
// concurrent use; if it is nil, the registration or Connect returns an error. An interceptor may reject a call with an
// error (see [Errorf]) instead of calling next, answer the call itself, add header fields, pass on another context or,
// on the client side, call next again after the first call of it has returned. A call that is rejected before next was
// called is reported to the caller as not executed. If next was called more than once, the call is not reported as not
// executed if an earlier attempt may have run.
//
// There is one type for both sides: see [WithInterceptors] for calls made and served, [Intercept] for calls served
// only. An interceptor can be tested without a bus, with an Exchange and a next of the test's own.
//
// Busline's own steps of a call are interceptors, too. On the server, from the outside in: the interceptors of
// [WithObservers], the report, recovery from panics, the limit of responses, claims, limits, then the interceptors of
// the connection, of Serve and of Method, then the endpoint. On the client: the header of the context (see
// [WithOutgoingHeader]), the interceptors of WithObservers, the report, then the interceptors of the connection, then
// the bus. The report passes the ended call to the metrics, to the taps and to the log, in this order. So when a user's
// interceptor runs, the caller's claims are verified (see [ClaimsOf]), and the outcome that it returns is logged and
// counted.
//
// Before the interceptors run, a request is acked. It is rejected if its time budget has ended, if it is nested too
// deep, or if too many handlers run; a request that comes in parts is also rejected if its token is invalid, or
// its caller none that [RequireCallers] names. Requests of the framework on port 888 do not pass through interceptors.
type Interceptor func(next CallFunc) CallFunc

// CallFunc carries a call on: through the next interceptor, and finally to the endpoint or onto the bus. It returns
// when the call has ended. On the server side an error becomes the answer to the call. On the client side an error is
// the reason why there is no response; a response with a status of 400 or above is not an error there: see
// [Exchange.Status] and [Exchange.Failure].
type CallFunc func(ctx context.Context, call *Exchange) error

// checkInterceptors returns an error if an interceptor is nil. A nil interceptor is not skipped, because it may have
// been meant as authorization.
func checkInterceptors(interceptors []Interceptor, option string) error {
	for i, interceptor := range interceptors {
		if interceptor == nil {
			return fmt.Errorf("interceptor %d is nil: leave it out of %s", i+1, option)
		}
	}
	return nil
}

// surround wraps a handler in the interceptors of an option, the first one outermost. It returns an error for an
// interceptor that returns a nil handler, because each call would panic.
func surround(inner CallFunc, interceptors []Interceptor, option string) (CallFunc, error) {
	if len(interceptors) > 0 {
		inner = withRequest(inner)
	}
	for i, interceptor := range slices.Backward(interceptors) {
		outer := interceptor(inner)
		if outer == nil {
			return nil, fmt.Errorf("interceptor %d of %s returned nil in place of a handler: have it return one that calls "+
				"next, or next itself", i+1, option)
		}
		inner = withRequest(outer)
	}
	return inner, nil
}

// withRequest returns a handler that restores the request of the exchange before and after inner, in case an
// interceptor has set it to nil.
func withRequest(inner CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) error {
		x.restoreRequest()
		defer x.restoreRequest()
		return inner(ctx, x)
	}
}

// compose wraps a handler in interceptors, the first one outermost. It skips nil interceptors: features that are
// switched off.
func compose(inner CallFunc, interceptors ...Interceptor) CallFunc {
	for _, interceptor := range slices.Backward(interceptors) {
		if interceptor != nil {
			inner = interceptor(inner)
		}
	}
	return inner
}

// Side is the side of a call on which an interceptor runs.
type Side int8

const (
	// ClientSide is the side of the caller.
	ClientSide Side = iota + 1
	// ServerSide is the side of the called instance.
	ServerSide
)

// String returns "client" or "server".
func (s Side) String() string {
	if s == ServerSide {
		return "server"
	}
	return "client"
}

// MarshalText returns the text of String, for logs in JSON.
func (s Side) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the text of MarshalText. It returns an error for any other text.
func (s *Side) UnmarshalText(text []byte) error {
	for _, each := range []Side{ClientSide, ServerSide} {
		if string(text) == each.String() {
			*s = each
			return nil
		}
	}
	return fmt.Errorf("%q is neither client nor server", text)
}

// Endpoint describes a registered endpoint. It does not change, so an interceptor can use the pointer as a key for its
// own data per endpoint.
type Endpoint struct {
	Name string // "Calculator.Add"; of an http.Handler its route, "GET /files/{path+}"
	Path string // "/products/{id}"
	Port int    // 443
}

// Exchange is a call seen by an [Interceptor]: the request and, after next has returned, the response. It belongs to
// one call, and must not be used after that call has ended. A test may make one from its exported fields.
type Exchange struct {
	// Address is the called address: Port, Host (preceded by the instance if one was addressed), Method and Path. The
	// Method of HEAD is GET, as which it travels: Request.IsHead distinguishes them, for an interceptor that answers in
	// place of the endpoint.
	subject.Address
	// Route is the path with its parameters, "/products/{id}", for telemetry: there are few different ones. On the client
	// side it is that of an [Operation], as of generated clients, or of an address of [Conn.Call] with parameters; else it
	// is "", as with [Conn.Do]. On the server side it is the Path of the Endpoint.
	Route string
	// Side is the side on which the interceptor runs.
	Side Side
	// Multicast reports, on the client side, that the call is a multicast or that an event is published. One exchange
	// stands for all receivers, and publishing an event has no answers. On the server side each receiver has a separate
	// exchange, in which Multicast is false.
	Multicast bool

	crashed bool // the handler has not returned

	// Answers is the number of instances that have answered a multicast, on the client side.
	Answers int
	// Endpoint is the endpoint that serves the call; nil on the client side.
	Endpoint *Endpoint
	// Request holds the caller, the header, and the body. Fields may be added to the header, but not changed in place:
	// other calls may share them. The body must not be changed. It is absent from a call that stays in the process and
	// passes Go values; see [WithBodies]. On the client side the ids and the time budget are set later, when the
	// request is sent. The Actor and the CallerProof are secrets of their bearers.
	Request *wire.Request
	// Response is the response; nil before there is one, for a multicast, and if there was an error. The rules for header
	// and body of the request apply here, too. An interceptor may replace the response. That of a stream has its Stream
	// set: on the client side the body follows, and has to be closed in place of its reader; on the server side it has
	// gone, and only an error can take its place.
	Response *wire.Response

	began   time.Time
	traceID string      // as SetTraceID has set it
	conn    *Conn       // nil in an exchange made by a test
	in      *serverCall // on the server side
	out     *clientCall // on the client side
}

// restoreRequest sets the request if an interceptor has set it to nil: logs, metrics and the answer need it.
func (x *Exchange) restoreRequest() {
	switch {
	case x.Request != nil:
	case x.in != nil:
		x.Request = &x.in.Read
	case x.out != nil:
		x.Request = &x.out.Request
	}
}

// Status returns the HTTP status with which the call ended: that of err, the error returned by next, else that of the
// response. A multicast without an error is 200, whatever its instances answer. It is for interceptors, after next has
// returned.
func (x *Exchange) Status(err error) int {
	switch {
	case x.crashed:
		return http.StatusInternalServerError
	case err != nil:
		return StatusOf(err)
	case x.Response != nil:
		return x.Response.Status
	default:
		return http.StatusOK
	}
}

// Failure returns the error that the call ends with for its caller, nil if the call has succeeded. It is err, the error
// returned by next, if that is not nil; else the error for a response with a status of 400 or above. On the client side
// every answer of a service is such a response, including that of a service that is too busy, and err is nil. A
// multicast has no response, so Failure does not cover the answers of its instances. Failure is for interceptors, after
// next has returned.
//
// The error must not be changed. On the server side the failed instance and the message id are set later, when the
// error is sent. Each Failure decodes the error of a response anew; for a call that has succeeded it costs nothing.
func (x *Exchange) Failure(err error) *Error {
	switch {
	case x.crashed && err == nil:
		return hasRun(http.StatusInternalServerError, nil, "the handler has not returned")
	case err != nil:
		return x.failed(err)
	case x.Response != nil && x.Response.Status >= http.StatusBadRequest:
		return responseError(x.Response)
	default:
		return nil
	}
}

// Elapsed returns the duration of the call so far: since it was made, or received.
func (x *Exchange) Elapsed() time.Duration {
	if x.began.IsZero() {
		return 0
	}
	return time.Since(x.began)
}

// TraceID returns the id of the trace that the call belongs to, 32 hexadecimal digits; "" for none.
func (x *Exchange) TraceID() string {
	if x.traceID != "" || x.Request == nil {
		return x.traceID
	}
	id := traceIDOf(x.Request.Header)
	if id == "" && x.conn != nil && x.conn.recorder(x) != nil {
		return callctx.RootTraceID(x.Request.MsgID)
	}
	return id
}

// SetTraceID sets the id of the trace that the call belongs to on this side, 32 hexadecimal digits. Errors, logs and
// taps name it. Default: that in the header of the request. It is for interceptors that trace, before they call next.
func (x *Exchange) SetTraceID(id string) {
	x.traceID = id
	if x.in != nil {
		x.in.Handler.TraceID = id
	}
}

// Local returns the host and the id of the instance on whose side the interceptor runs, both "" in an exchange made by
// a test.
func (x *Exchange) Local() (host, id string) {
	if x.conn == nil {
		return "", ""
	}
	return x.conn.host, x.conn.id
}

// Callee returns the host that was called. It omits an addressed instance if an answer identifies that part of the
// name. served reports whether an instance of the host has served the call, if only with an error: the names of hosts
// and ports for which it is false may be made up. It is for interceptors on the client side, after next has returned;
// err is the error returned by next.
func (x *Exchange) Callee(err error) (host string, served bool) {
	if x.Response != nil {
		return x.Response.FromHost, x.out == nil || !x.out.NotServed
	}
	var taker client.Peer
	if x.out != nil {
		taker = x.out.taker
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		taker = client.Peer{Host: failed.Host, ID: failed.ID}
	}
	if taker.IsCalled(x.Host) {
		return taker.Host, true
	}
	return x.Host, x.Answers > 0
}

// ended is the outcome of one attempt at a call: interceptors on the client side may make several.
type ended struct {
	response *wire.Response
	err      error
}

// failed completes the error returned by the interceptors: if the call has not passed all of them, no handler has run.
// It uses in and out, because an interceptor may have passed on a copy of the exchange. Nothing is known about an
// exchange made by a test.
func (x *Exchange) failed(err error) *Error {
	if x.in != nil && x.in.entered || x.out != nil && x.out.left || x.in == nil && x.out == nil {
		return asError(err)
	}
	return unsent(err)
}

// answeredByInterceptor reports whether a call on the client side has a response although it was not sent.
func (x *Exchange) answeredByInterceptor() bool { return !x.out.left && x.Response != nil }

// mayHaveRun reports whether the latest attempt may have reached a handler.
func (x *Exchange) mayHaveRun() bool {
	switch response := x.out.latest.response; {
	case x.out.latest.err != nil:
		return asError(x.out.latest.err).Executed != ExecutedNo
	case response != nil && response.Status >= http.StatusBadRequest:
		return responseError(response).Executed != ExecutedNo
	default:
		return true
	}
}

// doubt returns the error of a call, with Executed unknown if only this attempt proves that no handler has run: another
// attempt may have. So it changes a response, too.
func (x *Exchange) doubt(err error) error {
	if !x.out.ran {
		return err
	}
	failed := x.Failure(err)
	if failed == nil || failed.Executed != ExecutedNo {
		return err
	}
	unsure := *failed
	unsure.Executed = ExecutedUnknown
	if err != nil {
		return &unsure
	}
	response := *x.Response
	response.Body = unsure.body()
	x.Response = &response
	return nil
}
