// Package portal connects the outside with the bus: an HTTP ingress, one OpenAPI document of all services, a page to
// explore and try them, and a map of who calls whom.
//
//	browser, curl                       services
//	     │ GET /calculator.example/add?x=5&y=6   ▲
//	     ▼                                       │ GET https://calculator.example:443/add?x=5&y=6
//	  Server ──── Ingress (host "ingress") ── bus ──── portal (host "portal"): page, openapi.json, live.json
//
// A program with an ingress has two connections, one to make calls and one to serve the page:
//
//	door, err := bus.Connect(ctx, "ingress")
//	…
//	page, err := bus.Connect(ctx, "portal")
//	…
//	ingress, err := portal.NewIngress(door)
//	…
//	err = portal.Register(page)
//	…
//	server, err := portal.Listen(ingress) // BUS_HTTP_ADDR, 127.0.0.1:8080
//	…
//	fmt.Println("ready", server.BaseURL())
//	err = server.Serve(ctx) // until ctx ends; no call in flight is lost
//
// An application that already has an HTTP server can mount the ingress there, under any prefix:
//
//	mux.Handle("/bus/", http.StripPrefix("/bus", ingress))
//
// (An http.ServeMux redirects paths that contain // or .. before the ingress sees them; services get such paths only through
// a handler that does not change paths.)
//
// Requests from outside are not trusted: only public ports are reachable, no header of the bus gets in or out, and sizes,
// times and memory are limited. Error responses reveal no internal details of a service that failed.
package portal
