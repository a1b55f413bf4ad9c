package bus

import (
	"fmt"
	"net/http"
	"time"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

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
	traceID string    // when it is traced here; else the request may tell
	in      *incoming // on the side of the server
	out     *outgoing // on that of the caller
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
