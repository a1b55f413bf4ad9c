// Package shippingapi is what callers of the shipping service need: its interface, and a client of it, which is
// generated.
package shippingapi

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Shipping

// Host is where the service is on the bus.
const Host = "shipping.example"

// Shipping knows what parcels cost.
type Shipping interface {
	// Cost returns what it costs to send a parcel to a country, such as NO, in cents.
	Cost(ctx context.Context, grams int, country string) (cents int, err error)
}
