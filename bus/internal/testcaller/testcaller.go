// Package testcaller adds claims to a context, for methods that a test calls directly, without a bus. It is internal,
// so that only bus/bustest can set them.
package testcaller

import (
	"context"

	"github.com/busline/busline/bus/claims"
)

type key struct{}

// With returns a context with these claims, nil for none.
func With(ctx context.Context, verified claims.Claims) context.Context {
	return context.WithValue(ctx, key{}, verified)
}

// ClaimsIn returns the claims of a context, nil for none. They are shared.
func ClaimsIn(ctx context.Context) claims.Claims {
	verified, _ := ctx.Value(key{}).(claims.Claims)
	return verified
}
