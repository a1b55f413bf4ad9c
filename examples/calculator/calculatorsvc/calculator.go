// Package calculatorsvc is a service that does sums. It shows the default style, RPC: each method is a function
// that takes its arguments by name, and answers with its results by name.
//
//	GET  /add?x=5&y=6                                         {"sum":11}
//	POST /add                  {"x":5,"y":6}                  {"sum":11}
//	GET  /arithmetic?x=5&op=*&y=6                             {"result":30}
//	POST /distance             {"p1":{"x":0,"y":0},"p2":…}    {"d":5}
package calculatorsvc

import (
	"embed"
	"math"
	"net/http"

	"github.com/busline/busline/bus"
)

// source is this file, carried along in the executable: it tells the names of arguments and results wherever
// the executable runs, and however it was built. A service that runs beside its source does not need it.
//
//go:embed calculator.go
var source embed.FS

// Serve puts a calculator on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn) error {
	return bus.Serve(conn, Calculator{}, bus.Source(source))
}

// Calculator does sums.
type Calculator struct{}

// Point is a place in the plane.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Add returns the sum of x and y.
func (Calculator) Add(x int, y int) (sum int) { return x + y }

// Arithmetic returns x op y, where op is one of + - * /. Division drops the remainder.
func (Calculator) Arithmetic(x int, op string, y int) (result int, err error) {
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

// Distance returns how far apart two points are.
func (Calculator) Distance(p1 Point, p2 Point) (d float64, err error) {
	d = math.Hypot(p2.X-p1.X, p2.Y-p1.Y)
	if math.IsInf(d, 0) {
		return 0, bus.Errorf(http.StatusUnprocessableEntity, "the points are further apart than a number can say")
	}
	return d, nil
}
