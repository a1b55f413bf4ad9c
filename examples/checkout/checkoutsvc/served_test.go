package checkoutsvc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/mocks"
)

// The second way to test: mocks on the bus of the test, in place of the services. The calls are real ones.

// serveMocks puts mocks on the bus.
func serveMocks(t *testing.T, b *bustest.Bus,
	controller *gomock.Controller) (*mocks.MockProducts, *mocks.MockCalculator) {
	t.Helper()
	products, calculator := mocks.NewMockProducts(controller), mocks.NewMockCalculator(controller)
	if err := bus.Serve[productapi.Products](b.Connect(productapi.Host), products); err != nil {
		t.Fatal(err)
	}
	if err := bus.Serve[calculatorapi.Calculator](b.Connect(calculatorapi.Host), calculator); err != nil {
		t.Fatal(err)
	}
	return products, calculator
}

func TestServedMocks(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	products, calculator := serveMocks(t, b, gomock.NewController(bustest.Reporter(t)))
	products.EXPECT().Read(gomock.Any(), 1).DoAndReturn(func(ctx context.Context, _ int) (productapi.Product, error) {
		if caller, _ := bus.CallerOf(ctx); caller.Host != checkoutapi.Host || caller.Depth != 2 {
			t.Errorf("called by %+v, want %s, as the second of a chain", caller, checkoutapi.Host)
		}
		return productapi.Product{Name: "Tea", Price: 4.5}, nil
	})
	calculator.EXPECT().Arithmetic(gomock.Any(), 450, "*", 3).Return(1350, nil)
	calculator.EXPECT().Add(gomock.Any(), 0, 1350).Return(1350, nil)

	cents, err := serveCheckout(t, b).Total(t.Context(), []checkoutapi.Item{{Product: 1, Quantity: 3}})
	if err != nil || cents != 1350 {
		t.Errorf("%d cents, %v; want 1350", cents, err)
	}
}

// TestErrors_ComeThrough has the checkout's caller learn what products answered the checkout.
func TestErrors_ComeThrough(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	products, _ := serveMocks(t, b, gomock.NewController(bustest.Reporter(t)))
	products.EXPECT().Read(gomock.Any(), 7).Return(productapi.Product{},
		bus.Errorf(http.StatusNotFound, "no product has the id 7"))

	_, err := serveCheckout(t, b).Total(t.Context(), []checkoutapi.Item{{Product: 7, Quantity: 1}})
	failed, ok := errors.AsType[*bus.Error](err)
	if !ok || failed.Status != http.StatusNotFound || failed.Host != productapi.Host ||
		failed.Detail != "no product has the id 7" {
		t.Errorf("got %v", err)
	}
}

// TestUnexpectedCall makes the checkout call what no mock expects: the test fails at once, with the message of the
// mock, and the caller gets an answer. Here a recorder stands in for the test, which is not to fail.
func TestUnexpectedCall(t *testing.T) {
	t.Parallel()
	b, failing := bustest.New(t), &recorder{TB: t}
	serveMocks(t, b, gomock.NewController(bustest.Reporter(failing)))

	_, err := serveCheckout(t, b).Total(t.Context(), []checkoutapi.Item{{Product: 1, Quantity: 3}})
	if bus.StatusOf(err) != http.StatusInternalServerError {
		t.Errorf("got %v, want 500", err)
	}
	if text, _ := failing.text.Load().(string); !strings.Contains(text, "Unexpected call to *mocks.MockProducts.Read") {
		t.Errorf("the test was told %q", text)
	}
}

// recorder is a test that does not fail, but keeps the reason for which it should.
type recorder struct {
	testing.TB

	text atomic.Value // a string
}

func (r *recorder) Error(reason ...any) { r.text.Store(fmt.Sprint(reason...)) }
