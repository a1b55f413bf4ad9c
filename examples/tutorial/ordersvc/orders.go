// Package ordersvc says what orders cost. It calls the shipping service.
package ordersvc

import (
	"context"
	"embed"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/tutorial/shippingapi"
)

// Host is where the service is on the bus.
const Host = "orders.example"

//go:embed orders.go
var source embed.FS

// Serve puts the service on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn) error {
	return bus.Serve(conn, New(shippingapi.NewClient(conn)), bus.SourceFS(source))
}

// Orders knows what orders cost.
type Orders struct{ shipping shippingapi.Shipping }

// New takes whatever knows what parcels cost: a client, the service itself, or a mock.
func New(shipping shippingapi.Shipping) *Orders { return &Orders{shipping} }

// Price returns what an order costs with its shipping, in cents.
func (o *Orders) Price(ctx context.Context, goods int, grams int, country string) (cents int, err error) {
	shipping, err := o.shipping.Cost(ctx, grams, country)
	if err != nil {
		return 0, err
	}
	return goods + shipping, nil
}
