// Package shop sells what the stock has.
package shop

import (
	"context"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/recipes/together/stock"
)

// Host is where the shop is on the bus.
const Host = "shop.example"

// Shop calls the stock.
type Shop struct{ conn *bus.Conn }

// Offer reports whether a product can be sold.
func (s Shop) Offer(ctx context.Context, sku string) (available bool, err error) {
	var stocked struct{ Left int }
	err = s.conn.Call(ctx, "https://"+stock.Host+"/left", bus.Args{"sku": sku}, &stocked)
	return stocked.Left > 0, err
}

// Serve puts the shop on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn) error { return bus.Serve(conn, Shop{conn}) }
