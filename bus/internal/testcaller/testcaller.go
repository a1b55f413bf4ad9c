// Package testcaller gives a context the claims that a method finds which a test calls directly, without a bus. It is internal, so
// that bus/bustest can set them and no program can.
package testcaller

import (
	"context"

	"github.com/busline/busline/bus/claims"
)

type key struct{}

// With returns a context with these claims, nil for none.
func With(ctx context.Context, said claims.Claims) context.Context {
	return context.WithValue(ctx, key{}, said)
}

// ClaimsIn returns the claims of a context, nil for none. They are shared.
func ClaimsIn(ctx context.Context) claims.Claims {
	said, _ := ctx.Value(key{}).(claims.Claims)
	return said
}
