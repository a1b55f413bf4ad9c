// Package checkoutsvc implements checkoutapi: it computes what a basket costs. It shows a service that depends on
// others: prices come from productapi, sums from calculatorapi. It knows both only as interfaces, and gets their
// implementations: clients of services on the bus, mocks, or the services themselves.
//
//	POST /total    {"items":[{"product":1,"quantity":2}]}    {"cents":900}
package checkoutsvc

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/products/productapi"
)

// Checkout adds up what a basket costs. What it serves, and what that is called, is in checkoutapi.
type Checkout struct {
	products   productapi.Products
	calculator calculatorapi.Calculator
}

// New returns a checkout that asks the products for prices and the calculator for sums.
func New(products productapi.Products, calculator calculatorapi.Calculator) *Checkout {
	return &Checkout{products, calculator}
}

// Limits within which no sum overflows.
const (
	maxPrice    = 1_000_000 // not in cents
	maxQuantity = 1000      // of one item
)

// Total makes three calls for each product, however many items are of it. An error of whom it calls is its own: the
// status goes through to its caller.
func (c *Checkout) Total(ctx context.Context, items []checkoutapi.Item) (cents int, err error) {
	basket, err := gather(items)
	if err != nil {
		return 0, err
	}
	for _, id := range slices.Sorted(maps.Keys(basket)) {
		amount, err := c.amount(ctx, id, basket[id])
		if err != nil {
			return 0, err
		}
		if cents, err = c.calculator.Add(ctx, cents, amount); err != nil {
			return 0, err
		}
	}
	return cents, nil
}

// gather returns how many there are of each product, by its id.
func gather(items []checkoutapi.Item) (basket map[int]int, err error) {
	basket = make(map[int]int)
	for _, item := range items {
		if item.Quantity < 1 || item.Quantity > maxQuantity {
			return nil, bus.Errorf(http.StatusUnprocessableEntity, "the quantity is %d; choose from 1 to %d",
				item.Quantity, maxQuantity)
		}
		basket[item.Product] += item.Quantity
	}
	return basket, nil
}

// amount returns what so many of a product cost, in cents. Its calls get the context, and with it the time that is
// left.
func (c *Checkout) amount(ctx context.Context, id, quantity int) (cents int, err error) {
	product, err := c.products.Read(ctx, id)
	if err != nil {
		return 0, err
	}
	if product.Price > maxPrice {
		return 0, bus.Errorf(http.StatusUnprocessableEntity, "%s costs more than %d, the most that fits the till",
			product.Name, maxPrice)
	}
	price := int(math.Round(product.Price * 100))
	return c.calculator.Arithmetic(ctx, price, "*", quantity)
}
