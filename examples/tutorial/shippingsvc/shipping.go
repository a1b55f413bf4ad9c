// Package shippingsvc implements shippingapi.
package shippingsvc

import (
	"context"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/tutorial/shippingapi"
)

// Serve puts the service on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn) error {
	return bus.Serve[shippingapi.Shipping](conn, Shipping{})
}

// Shipping has fixed rates.
type Shipping struct{}

// Cost charges by the kilogram that was begun.
func (Shipping) Cost(_ context.Context, grams int, country string) (cents int, err error) {
	rates := map[string]int{"NO": 900, "SE": 700}
	rate, known := rates[country]
	if !known {
		return 0, bus.Errorf(http.StatusUnprocessableEntity, "we do not send to %q", country)
	}
	return rate * (1 + grams/1000), nil
}
