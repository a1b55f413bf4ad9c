// Package ingress lets outside HTTP onto the bus: /calculator.example/add becomes a call of
// https://calculator.example:443/add. A program has a [Handler] in a server of its own, or in one of [Listen].
//
// An application that already has an HTTP server can mount the handler there, under any prefix:
//
//	mux.Handle("/bus/", http.StripPrefix("/bus", handler))
//
// (An http.ServeMux redirects paths that contain // or .. before the ingress sees them; services get such paths only
// through a handler that does not change paths.)
//
// Requests from outside are not trusted: only public ports are reachable, no header of the bus gets in or out, and
// sizes, times and memory are limited. Error responses reveal no internal details of a service that failed.
package ingress
