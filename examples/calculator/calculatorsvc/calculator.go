// Package calculatorsvc implements calculatorapi: sums. It shows the default style, RPC: each method is a function
// that takes its arguments by name, and answers with its results by name.
//
//	GET  /add?x=5&y=6                                         {"sum":11}
//	POST /add                  {"x":5,"y":6}                  {"sum":11}
//	GET  /arithmetic?x=5&op=*&y=6                             {"result":30}
//	POST /distance             {"p1":{"x":0,"y":0},"p2":…}    {"d":5}
package calculatorsvc

import (
	"context"
	"math"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/calculator/calculatorapi"
)

// Serve puts a calculator on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn) error {
	return bus.Serve[calculatorapi.Calculator](conn, Calculator{})
}

// Calculator does sums. What it serves, and what that is called, is in calculatorapi.
type Calculator struct{}

// Add cannot fail.
func (Calculator) Add(_ context.Context, x int, y int) (sum int, err error) { return x + y, nil }

// Arithmetic refuses to divide by zero.
func (Calculator) Arithmetic(_ context.Context, x int, op string, y int) (result int, err error) {
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "/":
		if y == 0 {
			return 0, bus.Errorf(http.StatusBadRequest, "%d cannot be divided by zero", x)
		}
		return x / y, nil
	default:
		return 0, bus.Errorf(http.StatusBadRequest, "unknown operator %q: use + - * / (in a URL, + is written %%2B)", op)
	}
}

// Distance refuses points between which JSON has no number.
func (Calculator) Distance(_ context.Context, p1 calculatorapi.Point, p2 calculatorapi.Point) (d float64, err error) {
	d = math.Hypot(p2.X-p1.X, p2.Y-p1.Y)
	if math.IsInf(d, 0) {
		return 0, bus.Errorf(http.StatusUnprocessableEntity, "the points are further apart than a number can say")
	}
	return d, nil
}
