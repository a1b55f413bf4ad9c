// Package bus turns plain Go structs into microservices that talk over a message broker, NATS.
//
//	type Calculator struct{}
//
//	func (Calculator) Add(ctx context.Context, x, y int) (sum int, err error) { return x + y, nil }
//
//	conn, err := bus.Connect(ctx, "calculator.example")
//	err = bus.Serve(conn, Calculator{})
//	…
//	var out struct{ Sum int }
//	err = conn.Call(ctx, "https://calculator.example/add", bus.Args{"x": 1, "y": 2}, &out)
//
// A call is an HTTP/1.1 request in a message, published to the subject of its endpoint; an ack and a response
// come back to the response subject of the caller. One call step by step, with the file of each step:
//
//	caller                                            callee
//	 1 call.go, http.go     values → request           6 receive.go            ack, budget, depth
//	 2 unicast.go           the pending call           7 router.go             which endpoint
//	 3 bus/subject          which subject              8 endpoint.go, web.go   request → arguments
//	 4 bus/wire             as text                    9 reflectapi            the method runs
//	 5 local.go,                                      10 endpoint.go, web.go   results → response
//	   transport.go         carried                   11 respond.go            and back, through 5
//	12 pending.go           the answer arrives
//
// The bus promises that a unicast request runs at most once, that a connection finishes the calls it has begun before it
// closes, and that nothing starts after its time budget has ended. It does not promise durability, order, or exactly once.
package bus
