package checkoutsvc_test

import (
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
)

// The third way to test: the real services, on the bus of the test.

func TestRealServices(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
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
	products := productapi.NewClient(b.Connect("seller.example"))
	for _, product := range []productapi.Product{{Name: "Tea", Price: 4.5}, {Name: "Cup", Price: 7.05}} {
		if _, _, err := products.Create(t.Context(), product); err != nil {
			t.Fatal(err)
		}
	}

	checkout := serveCheckout(t, b)
	cents, err := checkout.Total(t.Context(), []checkoutapi.Item{{Product: 1, Quantity: 2}, {Product: 2, Quantity: 1}})
	if err != nil || cents != 1605 {
		t.Errorf("%d cents, %v; want 1605", cents, err)
	}
	if _, err := checkout.Total(t.Context(), []checkoutapi.Item{{Product: 7,
		Quantity: 1}}); bus.StatusOf(err) != http.StatusNotFound {
		t.Errorf("a product that is not there: %v", err)
	}
}
