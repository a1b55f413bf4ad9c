// Mailer writes to customers about their orders. It subscribes to the events of orders.example, the example in the
// folder above, whose header says how to try it.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/examples/orders/ordersapi"
)

func main() {
	err := bus.Run(context.Background(), "mailer.example", subscribe, bus.WithVersion("1"), trace.Record())
	if err != nil {
		log.Fatal(err)
	}
}

// mailer handles the events of ordersapi.
type mailer struct{}

// OnOrdered writes to the customer.
func (mailer) OnOrdered(_ context.Context, number int, item string, quantity int) error {
	_, err := fmt.Printf("to the customer: order %d, %d × %s, is on its way\n", number, quantity, item)
	return err
}

func subscribe(_ context.Context, conn *bus.Conn) error {
	if err := events.Subscribe[ordersapi.Events](conn, ordersapi.Host, mailer{}, events.Durable()); err != nil {
		return err
	}
	fmt.Println("the mailer waits for orders; Ctrl-C ends it")
	return nil
}
