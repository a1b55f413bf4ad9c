// Package interceptors has interceptors that many programs need: [Retry], [CircuitBreaker] and [Hedge] around the calls
// that a connection makes, [RateLimit] and [Idempotent] around those that it serves, [Once] around the events that a
// service handles.
//
//	conn, err := bus.Connect(ctx, "shop.example",
//		bus.WithInterceptors(interceptors.Retry(), interceptors.CircuitBreaker(), interceptors.Hedge()))
//
// The order counts: so a retry waits until the circuit breaker lets a call through, and a hedged call is one call for
// both. It is a package of its own so that services without it compile none of what it uses.
package interceptors
