// Checkout puts the service of checkoutsvc on the bus. It depends on two other services, and calls them with their
// generated clients.
//
// Start a bus in one terminal and the service in another, and call it from a third:
//
//	go run ./examples/showcase
//	go run ./examples/checkout
//	curl localhost:8080/products.example/products -H 'Content-Type: application/json' -d '{"name":"Tea","price":4.5}'
//	curl localhost:8080/checkout.example/total -H 'Content-Type: application/json' -d '{"items":[{"product":1,"quantity":3}]}'
//	curl localhost:8080/checkout.example/total -H 'Content-Type: application/json' -d '{"items":[{"product":7,"quantity":1}]}'
//
// The last three print:
//
//	{"id":1}
//	{"cents":1350}
//	{…"status":404,"detail":"no product has the id 7: not found",…"host":"products.example",…}
//
// The showcase runs the products and the calculator. Their errors are passed on to the caller.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/checkout/checkoutsvc"
	"github.com/busline/busline/examples/products/productapi"
)

func main() {
	if err := bus.Run(context.Background(), checkoutapi.Host, serve, bus.WithVersion("1"), trace.Record()); err != nil {
		log.Fatal(err)
	}
}

func serve(_ context.Context, conn *bus.Conn) error {
	service := checkoutsvc.New(productapi.NewClient(conn), calculatorapi.NewClient(conn))
	if err := bus.Serve[checkoutapi.Checkout](conn, service); err != nil {
		return err
	}
	fmt.Println(checkoutapi.Host, "is on the bus; Ctrl-C takes it off")
	return nil
}
