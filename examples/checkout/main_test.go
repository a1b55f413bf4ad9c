package main_test

import (
	"testing"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
)

func TestCheckout(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	if err := calculatorsvc.Serve(b.Connect(calculatorapi.Host)); err != nil {
		t.Fatal(err)
	}
	shop := b.Connect(productapi.Host)
	store, err := productsvc.OpenStore(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	if err := productsvc.Serve(shop, store); err != nil {
		t.Fatal(err)
	}
	program := exampletest.Start(t, exampletest.Build(t, "."), "BUS_NATS_URL="+b.Broker().URL(), "BUS_PLANE="+b.Plane())
	program.Await("checkout.example is on the bus")
	caller := b.Connect("caller.example")
	if _, _, err := productapi.NewClient(caller).Create(t.Context(),
		productapi.Product{Name: "Tea", Price: 4.5}); err != nil {
		t.Fatal(err)
	}
	checkout := exampletest.Open(t, caller, "https://"+checkoutapi.Host)
	checkout.Check("POST /total", `{"items":[{"product":1,"quantity":3}]}`, 200, `{"cents":1350}`)
	checkout.Check("POST /total", `{"items":[{"product":7,"quantity":1}]}`, 404, "no product has the id 7")
	program.Stop()
}
