// Package ownuse needs what is generated, and is generated all the same.
package ownuse

import (
	"context"

	"github.com/busline/busline/bus"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Greeter

// Greeter greets.
type Greeter interface {
	// Greet greets.
	Greet(ctx context.Context, name string) (greeting string, err error)
}

var _ Greeter = (*Client)(nil)

var makeClient = NewClient

// Ask asks.
func Ask(ctx context.Context, conn *bus.Conn) (AddedResults, error) {
	greeting, err := NewClient(conn).Greet(ctx, "you")
	return AddedResults{GreetResults{greeting}}, err
}

// AddedResults embeds what is generated.
type AddedResults struct{ GreetResults }
