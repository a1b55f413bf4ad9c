// Orders puts the service of orderssvc on the bus. It takes orders and publishes an event for each; the mailer beside
// it, and any other service, can subscribe to these events. They are stored: a mailer that is stopped gets them when it
// is back.
//
// The showcase has it, too. Start that in one terminal, the mailer in another, and order from a third:
//
//	go run ./examples/showcase
//	go run ./examples/orders/mailer
//	curl localhost:8080/orders.example/order -H 'Content-Type: application/json' -d '{"item":"Tea","quantity":2}'
//
// The last prints {"number":3}, as the showcase has ordered twice, and the mailer:
//
//	to the customer: order 3, 2 × Tea, is on its way
//
// Stop the mailer, order once more, and start it again: then it gets the event.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/examples/orders/orderssvc"
)

func main() {
	if err := bus.Run(context.Background(), ordersapi.Host, serve, bus.WithVersion("1"), trace.Record()); err != nil {
		log.Fatal(err)
	}
}

func serve(_ context.Context, conn *bus.Conn) error {
	publisher, err := ordersapi.NewPublisher(conn, events.Durable())
	if err != nil {
		return err
	}
	if err := bus.Serve[ordersapi.Orders](conn, orderssvc.New(publisher)); err != nil {
		return err
	}
	fmt.Println(ordersapi.Host, "is on the bus; Ctrl-C takes it off")
	return nil
}
