// Package streams has methods that stream, in each way to write that.
package streams

import (
	"context"
	"iter"

	cash "example.com/cases/types/money"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Feed
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Ticks -client TicksClient

// Host serves them.
const Host = "feed.example"

// Feed streams.
type Feed interface {
	// Watch tells every change of a product.
	Watch(ctx context.Context, category string) iter.Seq2[Change, error]
	// Prices are of another package.
	Prices(ctx context.Context, streams ...cash.Currency) (prices iter.Seq2[*cash.Amount, error])
	// Pages are generic, and their stream has a name.
	Pages(ctx context.Context) Pages[Change]
	// Rates have an argument whose name is that of a package.
	Rates(ctx context.Context, cash string) Pages[cash.Currency]
	// Numbers are a plain function.
	Numbers(n int) func(yield func(int, error) bool)
	// Texts are an alias.
	Texts(context.Context) Texts
	// Add does not stream.
	Add(ctx context.Context, x, y int) (sum int, err error)
}

// Ticks has nothing else.
type Ticks interface {
	Tick(ctx context.Context, ms int) iter.Seq2[int, error]
}

// Change is what happened to a product.
type Change struct {
	Name string `json:"name"`
	Left int    `json:"left"`
}

// Page is generic.
type Page[T any] struct{ Items []T }

// Pages is a stream of pages.
type Pages[T any] iter.Seq2[Page[T], error]

// Texts is a stream.
type Texts = iter.Seq2[string, error]
