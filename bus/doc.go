// Package bus makes plain Go structs into microservices that talk over a message broker, NATS.
//
//	type Calculator struct{}
//
//	func (Calculator) Add(ctx context.Context, x, y int) (sum int, err error) { return x + y, nil }
//
//	conn, err := bus.Connect(ctx, "calculator.example")
//	err = bus.Serve(conn, Calculator{})
//	…
//	var out struct{ Sum int }
//	err = bus.Call(ctx, conn, "https://calculator.example/add", bus.Args{"x": 1, "y": 2}, &out)
//
// A call is an HTTP/1.1 request in a message, published to a subject of its own endpoint; an ack and a response
// come back to the response subject of the caller. One call, stop by stop, with the file that holds each:
//
//	caller                                            callee
//	 1 call.go, http.go     values → request           6 receive.go            ack, budget, depth
//	 2 unicast.go,
//	   attempt.go           a slot for the answer      7 router.go             which endpoint
//	 3 bus/subject          where to                   8 function.go, web.go   request → arguments
//	 4 bus/wire             which bytes                9 reflectapi            the method runs
//	 5 shortcircuit.go,                               10 function.go, web.go   results → response
//	   nats.go              carried                   11 respond.go            and back, through 5
//	12 pending.go           the slot is filled
//
// What the bus promises: a unicast request runs at most once; a connection that is closed finishes what it has
// begun; nothing runs later than its time budget allows. What it does not: durability, order, exactly once.
package bus
