package main_test

import (
	"testing"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
)

func TestPayroll(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	program := exampletest.Start(t, exampletest.Build(t, "."), "BUS_NATS_URL="+b.Broker().URL(), "BUS_PLANE="+b.Plane())
	program.Await("payroll.example is on the bus")
	payroll := exampletest.Open(t, b.Connect("caller.example"), "https://payroll.example")
	payroll.Check("POST /headcount", `{}`, 200, `{"count":2}`)
	program.Stop()
}
