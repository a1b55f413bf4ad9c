package checkoutsvc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/checkout/checkoutsvc"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/mocks"
)

// The first way to test: mocks in place of the clients. There is no bus.

func TestTotal(t *testing.T) {
	t.Parallel()
	controller := gomock.NewController(t)
	products, calculator := mocks.NewMockProducts(controller), mocks.NewMockCalculator(controller)
	products.EXPECT().Read(gomock.Any(), 1).Return(productapi.Product{Name: "Tea", Price: 4.5}, nil)
	calculator.EXPECT().Arithmetic(gomock.Any(), 450, "*", 3).Return(1350, nil)
	calculator.EXPECT().Add(gomock.Any(), 0, 1350).Return(1350, nil)

	cents, err := checkoutsvc.New(products, calculator).Total(t.Context(), []checkoutapi.Item{{Product: 1, Quantity: 3}})
	if err != nil || cents != 1350 {
		t.Errorf("%d cents, %v; want 1350", cents, err)
	}
}

func TestNoTotal(t *testing.T) {
	t.Parallel()
	controller := gomock.NewController(t)
	products, calculator := mocks.NewMockProducts(controller), mocks.NewMockCalculator(controller)
	products.EXPECT().Read(gomock.Any(), 1).Return(productapi.Product{Name: "Tea", Price: 4.5}, nil).AnyTimes()
	products.EXPECT().Read(gomock.Any(), 2).Return(productapi.Product{Name: "Yacht", Price: 1.5e6}, nil)
	products.EXPECT().Read(gomock.Any(), 7).Return(productapi.Product{},
		bus.Errorf(http.StatusNotFound, "no product has the id 7"))
	calculator.EXPECT().Arithmetic(gomock.Any(), 450, "*", 13).Return(0, bus.Errorf(http.StatusTeapot, "no thirteen"))

	for _, test := range []struct {
		item   checkoutapi.Item
		status int
		text   string
	}{
		{checkoutapi.Item{Product: 1, Quantity: 0}, 422, "the quantity is 0; choose from 1 to 1000"},
		{checkoutapi.Item{Product: 1, Quantity: 1001}, 422, "the quantity is 1001"},
		{checkoutapi.Item{Product: 1, Quantity: 13}, 418, "no thirteen"},
		{checkoutapi.Item{Product: 2, Quantity: 1}, 422, "Yacht costs more than 1000000"},
		{checkoutapi.Item{Product: 7, Quantity: 1}, 404, "no product has the id 7"},
	} {
		cents, err := checkoutsvc.New(products, calculator).Total(t.Context(), []checkoutapi.Item{test.item})
		if bus.StatusOf(err) != test.status || !strings.Contains(err.Error(), test.text) || cents != 0 {
			t.Errorf("%+v: %d cents, %v; want %d %s", test.item, cents, err, test.status, test.text)
		}
	}
}
