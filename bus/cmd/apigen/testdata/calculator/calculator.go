// Package calculator is the plain case.
package calculator

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Calculator

// Host is where a calculator is on the bus.
const Host = "calculator.example"

// Calculator does sums.
//
// It forgets nothing:
//
//	calculator.Remember(ctx, p) // `p` for later
type Calculator interface {
	// Add returns the sum of x and y.
	Add(ctx context.Context, x, y int) (sum int, err error)
	// Sum adds up. It has no limit:
	//   - of numbers,
	//   - of size.
	Sum(ctx context.Context, start int, more ...int) (total int, err error)

	// Divide returns two results.
	Divide(ctx context.Context, x, y int) (quotient, remainder int, err error)
	Remember(ctx context.Context, p Point) error // a comment at the end is no description
	Clear(context.Context) error
	/* HTTPStatus is documented
	   the other way. */
	HTTPStatus(ctx context.Context, id string, url string) (text string, err error)
}

// Point is a place in the plane.
type Point struct{ X, Y float64 }
