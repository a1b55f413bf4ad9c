package bus

import (
	"context"
	"slices"
)

// Interceptor stands around calls. It gets what comes next and returns what is to run in its place, which sees each call
// on its way there and its outcome on the way back:
//
//	func announce(next bus.Handler) bus.Handler {
//		return func(ctx context.Context, call *bus.Exchange) error {
//			err := next(ctx, call)
//			fmt.Println(call.Method, call.Path, call.Status(err))
//			return err
//		}
//	}
//
// An interceptor is composed once, at registration or at Connect; what it returns is used by many goroutines at once. It
// may refuse a call by an error (see [Errorf]) in place of calling next, answer it itself, add header fields, hand on
// another context, or, on the caller's side, call next again, when the first call of it has returned. What it refuses in
// place of calling next is told to the caller as not executed; what it has called again is not, when an earlier attempt may
// have run.
//
// There is one type for both sides: see [WithInterceptors] for what is called and what is served, [Intercept] for what is
// served alone. It needs no bus: a test hands it an Exchange and a next of its own.
//
// What Busline itself does for a call are interceptors, too. From outside in, on the side of the server: tracing, logging,
// taps, metrics, recovery from panics, claims, limits, then those of the connection, of Serve and of Method, then the endpoint. On
// the side of the caller: tracing, logging, taps, metrics, then those of the connection, then the bus. So yours find the caller's
// claims verified (see [ClaimsOf]) and the span begun, and what they return is logged and counted.
//
// Before all of them a request is acked, and refused when its time is spent, when it is nested too deep, or when too many
// are handled already. What the framework asks on port 888 does not pass through them.
type Interceptor func(next Handler) Handler

// Handler carries a call on: through the next interceptor, in the end to the endpoint or onto the bus. It returns when the
// call has ended. On the side of the server an error is what the call is answered with; on the side of the caller it says
// why there is no response. A response with a status of 400 or above is no error there: see [Exchange.Status].
type Handler func(ctx context.Context, call *Exchange) error

// compose returns a handler around which the interceptors stand, the first one outermost.
func compose(inner Handler, interceptors ...Interceptor) Handler {
	for _, interceptor := range slices.Backward(interceptors) {
		if interceptor != nil {
			inner = interceptor(inner)
		}
	}
	return inner
}
