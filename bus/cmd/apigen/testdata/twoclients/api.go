// Package twoclients has two interfaces with a method of one name.
package twoclients

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Orders
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Invoices -client InvoicesClient
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Invoices -client Dunning -host "dunning.example" -output dunning_gen.go

// Orders are orders.
type Orders interface {
	// Add adds an order.
	Add(ctx context.Context, name string) (id int, err error)
}

// Invoices are invoices.
type Invoices interface {
	// Add adds an invoice.
	Add(ctx context.Context, name string) (id int, err error)
}
