// Package orderssvc takes orders, and publishes the events of ordersapi, to which every service can subscribe.
//
//	POST /order    {"item":"Tea","quantity":2}    {"number":1}
package orderssvc

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/orders/ordersapi"
)

// Orders takes orders. What it serves, and what that is called, is in ordersapi.
type Orders struct {
	events ordersapi.Events
	last   atomic.Int64
}

// New returns a service that publishes events of the orders that it takes. It knows them as the interface that others
// implement: what is behind it publishes them, or is a mock.
func New(events ordersapi.Events) *Orders { return &Orders{events: events} }

// Order takes an order. When the event cannot be published, the order is not taken.
func (o *Orders) Order(ctx context.Context, item string, quantity int) (number int, err error) {
	if item == "" || quantity < 1 {
		return 0, bus.Errorf(http.StatusUnprocessableEntity, "%d of %q cannot be ordered: name an item, and how many",
			quantity, item)
	}
	number = int(o.last.Add(1))
	if err := o.events.OnOrdered(ctx, number, item, quantity); err != nil {
		return 0, err
	}
	return number, nil
}
