// Package portal is the door between the outside and the bus: an HTTP ingress, one OpenAPI document of everything
// that is served, a page to look at it and try it, and a map of who calls whom.
//
//	browser, curl                       services
//	     │ GET /calculator.example/add?x=5&y=6   ▲
//	     ▼                                       │ GET https://calculator.example:443/add?x=5&y=6
//	  Server ──── Ingress (host "ingress") ── bus ──── portal (host "portal"): page, openapi.json, live.json
//
// A program that opens the door has two connections, one to call with and one to serve the page:
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
// An application that has an HTTP server already mounts the ingress there, under any prefix:
//
//	mux.Handle("/bus/", http.StripPrefix("/bus", ingress))
//
// (An http.ServeMux redirects paths that hold // or .. before the ingress sees them; services get them only through a
// handler that leaves paths alone.)
//
// What comes from outside is not trusted: only public ports are reachable, no header of the bus gets in or out, and
// sizes, times and what is held at a time are bounded. What goes out tells nothing of the inside of a service that failed.
package portal
