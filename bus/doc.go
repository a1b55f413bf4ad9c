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
// come back to the response subject of the caller.
// docs/ARCHITECTURE.md follows one call file by file.
//
// The bus promises that a unicast request runs at most once (with [NoQueue] once at each instance), that a connection
// finishes the calls it has begun before it closes, and that nothing starts after its time budget has ended. It does
// not promise durability, order, or exactly once.
//
// Events are in package bus/events.
package bus
