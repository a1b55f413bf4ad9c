package main_test

import (
	"testing"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
)

func TestCalculator(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	program := exampletest.Start(t, exampletest.Build(t, "."), "BUS_NATS_URL="+b.Broker().URL(), "BUS_PLANE="+b.Plane())
	program.Await("calculator.example is on the bus")
	calculator := exampletest.Open(t, b.Connect("caller.example"), "https://calculator.example")
	calculator.Check("POST /add", `{"x":5,"y":6}`, 200, `{"sum":11}`)
	program.Stop()
}
