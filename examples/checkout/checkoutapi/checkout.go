// Package checkoutapi is what callers of a checkout need: its interface, its types, and a generated client.
package checkoutapi

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Checkout

// Host is where a checkout is on the bus.
const Host = "checkout.example"

// Checkout tells what a basket costs.
type Checkout interface {
	// Total returns what all items together cost, in cents.
	Total(ctx context.Context, items []Item) (cents int, err error)
}

// Item is some of one product.
type Item struct {
	Product  int `json:"product"` // its id
	Quantity int `json:"quantity"`
}
