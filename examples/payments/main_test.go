package main_test

import (
	"testing"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
)

func TestPayments(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	program := exampletest.Start(t, exampletest.Build(t, "."), "BUS_NATS_URL="+b.Broker().URL(), "BUS_PLANE="+b.Plane())
	program.Await("payments.example is on the bus")
	payments := exampletest.Open(t, b.Connect("caller.example"), "https://payments.example")
	payments.Check("POST /receipts", `{}`, 200, `{"receipts":[]}`)
	program.Stop()
}
