package main_test

import (
	"testing"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
)

// TestProducts runs two instances, which keep their products in one bucket.
func TestProducts(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"), broker.JetStream(t.TempDir()))
	executable := exampletest.Build(t, ".")
	start := func() *exampletest.Program {
		program := exampletest.Start(t, executable, "BUS_NATS_URL="+b.Broker().URL(), "BUS_PLANE="+b.Plane())
		program.Await("products.example is on the bus, kept in the JetStream bucket " + b.Plane() + "_products")
		return program
	}
	first, second := start(), start()
	products := exampletest.Open(t, b.Connect("caller.example"), "https://products.example")
	products.Check("POST /products", `{"name":"Tea","price":4.5}`, 201, `{"id":1}`)
	first.Stop()
	products.Check("GET /products/1", "", 200, `{"name":"Tea","price":4.5,"tags":[]}`)
	second.Stop()
}
