// Package ordersapi is what others need of the service orders: the interface that they call, the events that they
// subscribe to, and a generated client and source of these.
package ordersapi

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Orders
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Events -events

// Host is where orders are on the bus, and whose events these are.
const Host = "orders.example"

// Orders takes orders.
type Orders interface {
	// Order takes an order for some of an item, and returns its number.
	Order(ctx context.Context, item string, quantity int) (number int, err error)
}

// Events are what happens to orders.
type Events interface {
	// OnOrdered tells that an order was taken.
	//
	//busline:key number
	OnOrdered(ctx context.Context, number int, item string, quantity int) error
}
