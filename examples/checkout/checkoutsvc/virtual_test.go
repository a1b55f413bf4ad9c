package checkoutsvc_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/products/productapi"
)

// What mocks on the bus can show besides: how long a call may take, and how many there are.

// TestSlowProducts waits for 20 s, on a clock that costs no time.
func TestSlowProducts(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		products, _ := serveMocks(t, b, gomock.NewController(bustest.Reporter(t)))
		products.EXPECT().Read(gomock.Any(), 1).DoAndReturn(func(ctx context.Context, _ int) (productapi.Product, error) {
			<-ctx.Done()
			return productapi.Product{}, ctx.Err()
		})
		checkout, began := serveCheckout(t, b), time.Now()

		_, err := checkout.Total(t.Context(), []checkoutapi.Item{{Product: 1, Quantity: 3}})
		if took := time.Since(began); bus.StatusOf(err) != http.StatusGatewayTimeout || took != 20*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestFewCalls fails should the checkout ever ask for the same price twice.
func TestFewCalls(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	products, calculator := serveMocks(t, b, gomock.NewController(bustest.Reporter(t)))
	products.EXPECT().Read(gomock.Any(), 1).Return(productapi.Product{Name: "Tea", Price: 4.5}, nil).AnyTimes()
	calculator.EXPECT().Arithmetic(gomock.Any(), 450, "*", 3).Return(1350, nil).AnyTimes()
	calculator.EXPECT().Add(gomock.Any(), 0, 1350).Return(1350, nil).AnyTimes()

	conn, tea := b.Connect(checkoutapi.Host), checkoutapi.Item{Product: 1, Quantity: 1}
	bustest.MaxCalls(t, conn, 3, func() {
		cents, err := newCheckout(conn).Total(t.Context(), []checkoutapi.Item{tea, tea, tea})
		if err != nil || cents != 1350 {
			t.Errorf("%d cents, %v; want 1350", cents, err)
		}
	})
}
