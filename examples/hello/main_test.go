package main_test

import (
	"testing"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
)

func TestHello(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	program := exampletest.Start(t, exampletest.Build(t, "."), "BUS_NATS_URL="+b.Broker().URL(), "BUS_PLANE="+b.Plane())
	program.Await("hello.example is on the bus")
	hello := exampletest.Open(t, b.Connect("caller.example"), "https://hello.example")
	hello.Check("POST /hello", `{"name":"Ada"}`, 200, `{"greeting":"Hello, Ada!"}`)
	program.Stop()
}
