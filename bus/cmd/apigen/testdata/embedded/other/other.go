// Package other is another one.
package other

import "context"

// Amount is one of its types.
type Amount int

// Counter is embedded from another package.
type Counter interface {
	// Zero is first in the source, and last in the alphabet.
	Zero(ctx context.Context) (err error)
	// Count counts what is `there`.
	Count(ctx context.Context, least Amount) (amount Amount, byName map[string][]*Amount, err error)
}

// Keeper is generic.
type Keeper[T any] interface {
	// Keep keeps one.
	Keep(ctx context.Context, what T) (kept []T, err error)
}

// Nothing adds nothing.
type Nothing any
