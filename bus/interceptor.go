package bus

import (
	"context"
	"fmt"
	"slices"
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
// What Busline itself does for a call is done by interceptors, too. On the server, from the outside in: tracing,
// logging, taps, metrics, recovery from panics, the limit of responses, claims, limits, then those of the connection, of
// Serve and of Method, then the endpoint. On the caller: the header of the context (see [WithOutgoingHeader]), tracing,
// logging, taps, metrics, then those of the connection, then the bus. So when yours run, the caller's claims are verified
// (see [ClaimsOf]) and the span has begun, and what they return is logged and counted.
//
// Before any of them runs, a request is acked, and refused if its time is spent, if it is nested too deep, or if too
// many handlers run; one that comes in parts also if its token is bad. What the framework asks on port 888 does not pass
// through them.
type Interceptor func(next CallFunc) CallFunc

// CallFunc carries a call on: through the next interceptor, and finally to the endpoint or onto the bus. It returns when
// the call has ended. On the server an error is what the call is answered with; on the caller it says why there is no
// response. There a response with a status of 400 or above is not an error: see [Exchange.Status] and [Exchange.Failure].
type CallFunc func(ctx context.Context, call *Exchange) error

// checkInterceptors refuses one that is nil: nobody can know what it was to do, and it may have been authorization.
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
