// Package calculatorapi is what callers of a calculator need: its interface, its types, and a generated client.
package calculatorapi

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Calculator

// Host is where a calculator is on the bus.
const Host = "calculator.example"

// Calculator does sums.
type Calculator interface {
	// Add returns the sum of x and y.
	Add(ctx context.Context, x int, y int) (sum int, err error)
	// Arithmetic returns x op y, where op is one of + - * /. Division drops the remainder.
	Arithmetic(ctx context.Context, x int, op string, y int) (result int, err error)
	// Distance returns how far apart two points are.
	Distance(ctx context.Context, p1 Point, p2 Point) (d float64, err error)
}

// Point is a place in the plane.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}
