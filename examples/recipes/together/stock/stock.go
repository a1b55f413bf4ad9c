// Package stock knows what is left.
package stock

import "github.com/busline/busline/bus"

// Host is where the stock is on the bus.
const Host = "stock.example"

// Stock is how many there are of each product.
type Stock map[string]int

// Left returns how many of a product are left.
func (s Stock) Left(sku string) (left int) { return s[sku] }

// Serve puts the stock on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn) error { return bus.Serve(conn, Stock{"tea": 3}) }
