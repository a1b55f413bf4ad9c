package ordersvc_test

import (
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/tutorial/ordersvc"
	"github.com/busline/busline/examples/tutorial/shippingapi"
	"github.com/busline/busline/examples/tutorial/shippingsvc"
)

func TestPrice(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	if err := shippingsvc.Serve(b.Connect(shippingapi.Host)); err != nil {
		t.Fatal(err)
	}
	if err := ordersvc.Serve(b.Connect(ordersvc.Host)); err != nil {
		t.Fatal(err)
	}
	client := b.Connect("client.example")
	for country, want := range map[string]int{"NO": 200, "SE": 200, "XX": 422} {
		order := bus.Args{"goods": 5000, "grams": 1500, "country": country}
		var price struct{ Cents int }
		err := client.Call(t.Context(), "https://orders.example/price", order, &price)
		if status := bus.StatusOf(err); status != want {
			t.Errorf("%s: %d, %v", country, status, err)
		}
		if country == "NO" && price.Cents != 6800 {
			t.Errorf("%s: %d cents", country, price.Cents)
		}
	}
}

func TestPriceWithoutABus(t *testing.T) {
	t.Parallel()
	cents, err := ordersvc.New(shippingsvc.Shipping{}).Price(t.Context(), 5000, 1500, "NO")
	if err != nil || cents != 6800 {
		t.Errorf("%d, %v", cents, err)
	}
}
