// Package portal serves one OpenAPI document of all services, a page to explore and try them, a map of who calls whom,
// and the figures of events. It is a service on the bus, with the host "portal", and package ingress is the way to it
// from the outside:
//
//	browser, curl                                  services
//	     │ GET /calculator.example/add?x=5&y=6        ▲
//	     ▼                                            │ GET https://calculator.example:443/add?x=5&y=6
//	  ingress.Server ── ingress.Handler (host "ingress") ── bus ── portal (host "portal"): page, openapi.json, live.json
//
// A program with both has two connections, one to make calls and one to serve the page:
//
//	door, err := bus.Connect(ctx, "ingress")
//	…
//	page, err := bus.Connect(ctx, "portal")
//	…
//	handler, err := ingress.New(door)
//	…
//	err = portal.Register(page)
//	…
//	server, err := ingress.Listen(handler) // BUS_HTTP_ADDR, 127.0.0.1:8080
//	…
//	fmt.Println("ready", server.BaseURL())
//	err = server.Serve(ctx) // until ctx ends; no call in flight is lost
package portal
