// Package routes is the case of an interface that declares routes.
package routes

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Orders

// Orders takes orders.
type Orders interface {
	// Cancel cancels an order.
	//
	//busline:route POST /orders/{id}/cancel
	Cancel(ctx context.Context, id int, reason string) (cancelled bool, err error)

	//busline:route   GET   /orders/{order}/lines/{line}
	Line(ctx context.Context, order string, line int) (item string, err error)

	// AddLine adds a line.
	//busline:route PUT /orders/{order}/lines
	AddLine(ctx context.Context, order string, httpRequestBody string) (httpStatusCode int, err error)

	// Create creates one, as its name tells.
	Create(ctx context.Context, httpRequestBody string) (id int, err error)

	// Anyhow is called by any method.
	//
	//busline:route * /anyhow
	Anyhow(ctx context.Context, id int) error
}
