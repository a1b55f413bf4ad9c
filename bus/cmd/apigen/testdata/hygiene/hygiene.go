// Package hygiene has names that the client needs itself.
package hygiene

import (
	ctxpkg "context"

	"example.com/cases/hygiene/bus"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Clash

const reflectapi = "a name of this package, not that of an import"

var iter = reflectapi

type status int

// Clash collides with everything, `quotes` too.
type Clash interface {
	// Receiver is about c and m.
	Receiver(ctx ctxpkg.Context, c, m int, context string) (response int, c_ string, err error)
	// Type returns `raw` text, and ``.
	Type(_ ctxpkg.Context, x, X, ctx int) (_ string, _ error)
	Result(ctxpkg ctxpkg.Context, result, err string) (string, error)
	Conn(ctx ctxpkg.Context, connArguments int) (ConnResults int, failure error)
	// Host has no context, so that it needs the package.
	Host(ctxpkg, bus int) (to bus.Line, err error)
	CreateRoute(ctx ctxpkg.Context, status int) (httpStatusCode status, err error)
	Range(ctx ctxpkg.Context, string string, len int, nil bool) (true bool, err error)
}
