package main_test

import (
	"testing"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
)

// TestOrders runs both programs. One order is taken while the mailer is away.
func TestOrders(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"), broker.JetStream(t.TempDir()))
	environment := []string{"BUS_NATS_URL=" + b.Broker().URL(), "BUS_PLANE=" + b.Plane()}
	orders := exampletest.Start(t, exampletest.Build(t, "."), environment...)
	orders.Await("orders.example is on the bus")
	mailing := exampletest.Build(t, "./mailer")
	mailer := exampletest.Start(t, mailing, environment...)
	mailer.Await("the mailer waits for orders")
	caller := exampletest.Open(t, b.Connect("caller.example"), "https://orders.example")
	caller.Check("POST /order", `{"item":"Tea","quantity":2}`, 200, `{"number":1}`)
	mailer.Await("to the customer: order 1, 2 × Tea, is on its way")
	mailer.Stop()
	caller.Check("POST /order", `{"item":"Milk","quantity":1}`, 200, `{"number":2}`)
	caller.Check("POST /order", `{"item":"","quantity":1}`, 422, "name an item")
	mailer = exampletest.Start(t, mailing, environment...)
	mailer.Await("to the customer: order 2, 1 × Milk, is on its way")
	mailer.Stop()
	orders.Stop()
}
