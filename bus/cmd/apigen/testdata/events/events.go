// Package events has what is called and what is fired side by side.
package events

import (
	"context"
	"time"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Orders
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Events -events
//go:generate go run github.com/busline/busline/bus/cmd/apigen -events -type Refunds -client RefundsPublisher -host refunds.example

// Host is where all of it is.
const Host = "orders.example"

type Orders interface {
	Order(item string) (number int, err error)
}

// Events are what happens to orders.
type Events interface {
	// OnOrdered tells that an order was taken.
	//
	//busline:key number
	OnOrdered(ctx context.Context, number int, at time.Time, items ...Item) error
	OnHTTPFailure(_ context.Context, c, m string) (events error)
	OnNight() error
}

// Refunds are events of another host.
type Refunds interface {
	//busline:key number
	OnRefunded(ctx context.Context, number int) error
}

// Item is what is ordered.
type Item struct {
	Name string `json:"name"`
}
