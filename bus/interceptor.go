package bus

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Interceptor wraps calls. It gets the next handler and returns the one to run in its place, which sees each call on
// its way there and its outcome on the way back:
//
//	func announce(next bus.CallFunc) bus.CallFunc {
//		return func(ctx context.Context, call *bus.Exchange) error {
//			err := next(ctx, call)
//			fmt.Println(call.Method, call.Path, call.Status(err))
//			return err
//		}
//	}
//
// An interceptor is composed once, at registration or at Connect; the handler that it returns is used by many
// goroutines at once; if it is nil, the registration or Connect fails. An interceptor may refuse a call with an error
// (see [Errorf]) instead of calling next, answer the call itself, add header fields, pass on another context or, on
// the caller's side, call next again after the first call of it has returned. A call that it refuses without calling
// next is reported to the caller as not executed; one for which it has called next more than once is not, if an
// earlier attempt may have run.
//
// There is one type for both sides: see [WithInterceptors] for calls made and served, [Intercept] for calls served
// only. It can be tested without a bus, with an Exchange and a next of the test's own.
//
// What Busline itself does for a call is done by interceptors, too. On the server, from the outside in: tracing, the
// observer, recovery from panics, the limit of responses, claims, limits, then those of the connection, of Serve and of
// Method, then the endpoint. On the caller: the header of the context (see [WithOutgoingHeader]), tracing, the observer,
// then those of the connection, then the bus. The observer reports the ended call to the metrics, to the taps and to the
// log, in this order. So when yours run, the caller's claims are verified (see [ClaimsOf]) and the span has begun, and
// what they return is logged and counted.
//
// Before any of them runs, a request is acked, and refused if its time is spent, if it is nested too deep, or if too
// many handlers run; one that comes in parts also if its token is bad. What the framework asks on port 888 does not pass
// through them.
type Interceptor func(next CallFunc) CallFunc

// CallFunc carries a call on: through the next interceptor, and finally to the endpoint or onto the bus. It returns when
// the call has ended. On the server an error is what the call is answered with; on the caller it says why there is no
// response. There a response with a status of 400 or above is not an error: see [Exchange.Status] and [Exchange.Failure].
type CallFunc func(ctx context.Context, call *Exchange) error

// checkInterceptors refuses one that is nil: it is unknown what it was to do, and it may have been authorization.
func checkInterceptors(interceptors []Interceptor, option string) error {
	for i, interceptor := range interceptors {
		if interceptor == nil {
			return fmt.Errorf("interceptor %d is nil: leave it out of %s", i+1, option)
		}
	}
	return nil
}

// surround puts the interceptors of an option around a handler, the first one outermost. It refuses one that returns no handler, as
// each call would panic there.
func surround(inner CallFunc, interceptors []Interceptor, option string) (CallFunc, error) {
	if len(interceptors) > 0 {
		inner = withRequest(inner)
	}
	for i, interceptor := range slices.Backward(interceptors) {
		made := interceptor(inner)
		if made == nil {
			return nil, fmt.Errorf("interceptor %d of %s returned nil in place of a handler: have it return one that calls next, or next itself", i+1, option)
		}
		inner = withRequest(made)
	}
	return inner, nil
}

// withRequest returns a handler before and after which the exchange has a request, also if an interceptor has set it to nil.
func withRequest(inner CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) error {
		x.restoreRequest()
		defer x.restoreRequest()
		return inner(ctx, x)
	}
}

// compose returns a handler around which the interceptors stand, the first one outermost. Those that are nil are left out:
// what is switched off.
func compose(inner CallFunc, interceptors ...Interceptor) CallFunc {
	for _, interceptor := range slices.Backward(interceptors) {
		if interceptor != nil {
			inner = interceptor(inner)
		}
	}
	return inner
}

// Side says on which side of a call an interceptor runs.
type Side int8

const (
	// ClientSide is the caller's.
	ClientSide Side = iota + 1
	// ServerSide is that of the instance that is called.
	ServerSide
)

// String returns "client" or "server".
func (s Side) String() string {
	if s == ServerSide {
		return "server"
	}
	return "client"
}

// MarshalText returns what String does, for logs in JSON.
func (s Side) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Side) UnmarshalText(text []byte) error {
	for _, each := range []Side{ClientSide, ServerSide} {
		if string(text) == each.String() {
			*s = each
			return nil
		}
	}
	return fmt.Errorf("%q is neither client nor server", text)
}

// Endpoint is what is known of an endpoint from its registration on. It does not change, so an interceptor can use the
// pointer as a key for what it keeps per endpoint.
type Endpoint struct {
	Name string // "Calculator.Add"; of an http.Handler its route, "GET /files/{path+}"
	Path string // "/products/{id}"
	Port int    // 443
}

// Exchange is a call as an [Interceptor] sees it: the request and, once it was carried, the response. It belongs to one
// call, and must not be used after that call has ended. A test may make one by its exported fields.
type Exchange struct {
	// Address is what was called: Port, Host (with the instance in front when one was addressed), Method and Path.
	subject.Address
	// Side is where the interceptor runs.
	Side Side
	// Multicast says, on the calling side, that the call is a multicast or that an event is fired: one exchange stands for
	// all who get it, and firing an event has no answers. Each serving side sees an exchange of its own, in which it is
	// false.
	Multicast bool

	crashed bool // the handler has not returned

	// Answers is how many instances have answered a multicast, on the calling side.
	Answers int
	// Endpoint is what serves the call; nil on the calling side.
	Endpoint *Endpoint
	// Request has who calls, the header, and the body. Fields may be added to the header, but not changed in place: other
	// calls may have them, too. The body must not be changed, and is absent from a call that stays in the process and is
	// passed as Go values; see [WithBodies]. On the calling side the ids and the time budget are set later, when the request
	// leaves. The Actor in it is a secret of its bearer.
	Request *wire.Request
	// Response is what came back; nil before, of a multicast, and when there was an error. What is said of the request
	// holds here, too. An interceptor may put another one in its place.
	Response *wire.Response

	began   time.Time
	traceID string      // when it is traced here; else the request may tell
	in      *serverCall // on the side of the server
	out     *clientCall // on that of the caller
}

// restoreRequest sets the request if an interceptor has set it to nil: logs, metrics and the answer need it.
func (x *Exchange) restoreRequest() {
	switch {
	case x.Request != nil:
	case x.in != nil:
		x.Request = &x.in.read
	case x.out != nil:
		x.Request = &x.out.Request
	}
}

// Status returns the HTTP status with which the call ended, for interceptors to use after next has returned: that of the
// error, else that of the response. A multicast without an error is 200, whatever its instances answer.
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

// Failure returns the error that the call ends with for its caller, nil if it has succeeded, for interceptors to use after next
// has returned. That is the error that next has returned, if there is one; else the error that a response with a status of 400 or
// above stands for. On the side of the caller every answer of a service is such a response, also that of one which is too busy,
// and err is nil. A multicast has no response: what its instances answer it does not tell.
//
// The error must not be changed. On the side of the server it says only later, when it is answered, who has failed and on which
// request. Of a response each Failure makes the error anew; of a call that has succeeded it costs nothing.
func (x *Exchange) Failure(err error) *Error {
	switch {
	case x.crashed && err == nil:
		return newError(http.StatusInternalServerError, ExecutedYes, nil, "the handler has not returned")
	case err != nil:
		return x.failed(err)
	case x.Response != nil && x.Response.Status >= http.StatusBadRequest:
		return responseError(x.Response)
	default:
		return nil
	}
}

// Elapsed returns how long the call has taken so far: since it was made, or taken in.
func (x *Exchange) Elapsed() time.Duration {
	if x.began.IsZero() {
		return 0
	}
	return time.Since(x.began)
}

// TraceID returns the id of the trace that the call belongs to, 32 hexadecimal digits; "" for none.
func (x *Exchange) TraceID() string {
	if x.traceID == "" && x.Request != nil {
		return traceIDOf(x.Request.Header)
	}
	return x.traceID
}

// ended is what became of one attempt at a call: interceptors of the caller may make several.
type ended struct {
	response *wire.Response
	err      error
}

// failed completes the error with which the interceptors have returned: what has not got past them has not run. They may
// have handed on a copy of the exchange. Of an exchange that a test has made nothing is known.
func (x *Exchange) failed(err error) *Error {
	if x.in != nil && x.in.entered || x.out != nil && x.out.left || x.in == nil && x.out == nil {
		return asError(err)
	}
	return unsent(err)
}

// answeredByInterceptor reports whether a call of our own has ended with a response that came from nowhere else.
func (x *Exchange) answeredByInterceptor() bool { return !x.out.left && x.Response != nil }

// mayHaveRun reports whether the latest attempt has reached a handler, for all that is known.
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

// doubt takes back what the latest attempt proves, that nothing has run: an earlier one may have. It returns its error.
func (x *Exchange) doubt() error {
	if x.mayHaveRun() {
		return x.out.latest.err
	}
	if x.out.latest.err != nil {
		failed := *asError(x.out.latest.err)
		failed.Executed = ExecutedUnknown
		return &failed
	}
	refused := responseError(x.Response)
	refused.Executed = ExecutedUnknown
	doubted := *x.Response
	doubted.Body = refused.body()
	x.Response = &doubted
	return nil
}
