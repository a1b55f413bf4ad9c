package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// OutOfStock is the type of the failure of an order for more than there is. Its details are a [Shortage].
const OutOfStock = "https://shop.example/problems/out-of-stock"

// Shortage says what is missing.
type Shortage struct {
	SKU  string `json:"sku"`
	Left int    `json:"left"`
}

// Shop sells tea.
type Shop struct{}

// Order orders some of a product.
func (Shop) Order(sku string, amount int) error {
	if left := 3; amount > left {
		err := bus.Errorf(http.StatusConflict, "only %d of %s are left", left, sku)
		return bus.ErrorWithDetails(err, OutOfStock, Shortage{SKU: sku, Left: left})
	}
	return nil
}

// The type of an error tells it from others of its status, and its details are read into a Go type.
func ExampleErrorWithDetails() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := bus.Connect(ctx, "shop.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := bus.Serve(conn, Shop{}); err != nil {
		log.Fatal(err)
	}

	err = conn.Call(ctx, "https://shop.example/order", bus.Args{"sku": "tea", "amount": 5}, nil)
	if failed, ok := errors.AsType[*bus.Error](err); ok && failed.Type == OutOfStock {
		var shortage Shortage
		if err := failed.DecodeDetails(&shortage); err != nil {
			log.Fatal(err)
		}
		fmt.Println("order", shortage.Left, "of", shortage.SKU)
	}
	fmt.Println(errors.Is(err, &bus.Error{Type: OutOfStock}))
	// Output:
	// order 3 of tea
	// true
}
