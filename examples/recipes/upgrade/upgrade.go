// Package upgrade has two versions of a service that run side by side. docs/recipes/upgrade.md explains it.
package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/busline/busline/bus"
)

// Old is version 1: prices in cents, of euros.
type Old map[string]int

// Price returns the price of a product in cents.
func (o Old) Price(sku string) (cents int) { return o[sku] }

// New is version 2.
type New map[string]int

// Price returns the price of a product in cents of a currency, EUR by default, and that currency.
func (n New) Price(sku, currency string) (cents int, in string, err error) {
	switch in = cmp.Or(currency, "EUR"); in {
	case "EUR":
		return n[sku], in, nil
	case "USD":
		return n[sku] * 11 / 10, in, nil
	default:
		return 0, "", bus.Errorf(http.StatusUnprocessableEntity, "currency is %q; use EUR or USD", currency)
	}
}

// Dollars calls for a price in US dollars. It fails where an old instance answers, which knows no currencies.
func Dollars(ctx context.Context, conn *bus.Conn, sku string) (cents int, err error) {
	var price struct {
		Cents int
		In    string
	}
	err = conn.Call(ctx, "https://pricing.example/price", bus.Args{"sku": sku, "currency": "USD"}, &price)
	if err == nil && price.In != "USD" {
		err = fmt.Errorf("price of %s: the answer is in %q; wait until all of pricing.example has version 2", sku, price.In)
	}
	return price.Cents, err
}
