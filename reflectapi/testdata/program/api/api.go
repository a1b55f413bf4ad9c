// Package api declares interfaces that another package implements.
package api

import (
	"context"
	"embed"
	"iter"
)

// Source is the source of this package.
//
//go:embed *.go
var Source embed.FS

// Greeter has no signature table.
type Greeter interface {
	// Greet greets a person.
	Greet(ctx context.Context, name string, times int) (greeting string, err error)

	Shouter
}

// Shouter is embedded.
type Shouter interface {
	// Shout is variadic.
	Shout(words ...string) (loudness int)
}

// Teller has a signature table.
type Teller interface {
	// Tell tells a story.
	Tell(ctx context.Context, story string, times int) (moral string, err error)
	// Repeat is variadic.
	Repeat(stories ...string) (count int)
	// Recite streams.
	Recite(ctx context.Context, times int) iter.Seq2[string, error]
}
