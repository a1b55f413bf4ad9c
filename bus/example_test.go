package bus_test

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// Calculator is a service: each exported method is an endpoint.
type Calculator struct{}

// Add returns the sum of x and y.
func (Calculator) Add(x, y int) (sum int) { return x + y }

// A service and its caller, here in one process with a broker in it. Usually each is a program of its own, without
// WithBroker: BUS_NATS_URL says where the broker is.
func Example() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()

	server, err := bus.Connect(ctx, "calculator.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(ctx) }()
	if err := bus.Serve(server, Calculator{}); err != nil {
		log.Fatal(err)
	}

	client, err := bus.Connect(ctx, "client.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close(ctx) }()
	var out struct{ Sum int }
	if err := client.Call(ctx, "https://calculator.example/add", bus.Args{"x": 5, "y": 6}, &out); err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Sum)
	// Output: 11
}
