package checkoutsvc_test

import (
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/checkout/checkoutsvc"
	"github.com/busline/busline/examples/products/productapi"
)

// newCheckout returns a checkout that calls whatever is on the bus.
func newCheckout(conn *bus.Conn) *checkoutsvc.Checkout {
	return checkoutsvc.New(productapi.NewClient(conn), calculatorapi.NewClient(conn))
}

// serveCheckout puts such a checkout on the bus, and returns a client of it.
func serveCheckout(t *testing.T, b *bustest.Bus) checkoutapi.Checkout {
	t.Helper()
	conn := b.Connect(checkoutapi.Host)
	if err := bus.Serve[checkoutapi.Checkout](conn, newCheckout(conn)); err != nil {
		t.Fatal(err)
	}
	return checkoutapi.NewClient(b.Connect("caller.example"))
}

func TestNames(t *testing.T) {
	t.Parallel()
	bustest.CheckNames[checkoutapi.Checkout](t, &checkoutsvc.Checkout{})
}
