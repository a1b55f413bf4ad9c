package bus_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// Without options the environment says how to connect: BUS_NATS_URL, BUS_PLANE and others.
func ExampleConnect() {
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()

	conn, err := bus.Connect(context.Background(), "shop.example",
		bus.WithBroker(embedded), // a NATS server elsewhere: bus.WithURL("nats://10.0.0.7:4222")
		bus.WithPlane("staging"),
		bus.WithVersion("1.2"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(conn.Host(), conn.Plane(), conn.Version(), conn.Health())

	// Close lets handlers finish and loses no call, as long as the context allows.
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	fmt.Println(conn.Close(ctx))
	// Output:
	// shop.example staging 1.2 <nil>
	// <nil>
}
