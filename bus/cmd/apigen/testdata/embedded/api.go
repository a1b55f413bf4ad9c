// Package embedded has an interface that is made of others.
package embedded

import (
	"context"
	stdtime "time"

	"example.com/cases/embedded/other"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Store

// Store is all of it.
type Store interface {
	// Open is the first.
	Open(ctx context.Context, at stdtime.Time) (err error)
	Reader
	other.Counter
	other.Keeper[Entry]
	// Close is declared after those, and has its place after them.
	Close(ctx context.Context) (err error)
	other.Nothing
}

// Reader is in the same file; Writer, which it embeds, in another.
type Reader interface {
	// Find finds what is called so.
	Find(ctx context.Context, name string) (entry Entry, err error)
	Writer
}
