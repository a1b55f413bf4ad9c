// Payments puts the service of paymentssvc on the bus: a union, enums, and what may be missing.
//
// The showcase has it, too. Start that in one terminal, and pay from another:
//
//	go run ./examples/showcase
//	curl localhost:8080/payments.example/pay -H 'Content-Type: application/json' \
//		-d '{"cents":450,"currency":"EUR","by":{"kind":"card","number":"4111111111111111"}}'
//
// It prints the receipt:
//
//	{"receipt":{"number":1,"cents":450,"currency":"EUR","by":{"kind":"card","number":"4111111111111111"},"state":2,…}}
//
// Means of another kind are refused, with those that there are.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/examples/payments/paymentsapi"
	"github.com/busline/busline/examples/payments/paymentssvc"
)

func main() {
	if err := bus.Run(context.Background(), paymentsapi.Host, serve, bus.WithVersion("1"), trace.Record()); err != nil {
		log.Fatal(err)
	}
}

func serve(_ context.Context, conn *bus.Conn) error {
	if err := paymentssvc.Serve(conn); err != nil {
		return err
	}
	fmt.Println(paymentsapi.Host, "is on the bus; Ctrl-C takes it off")
	return nil
}
