// Package unions has an interface whose values are those of variants.
package unions

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Shape
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Shapes -host shapes.example

// Shape is a figure
// with an area.
//
//busline:oneOf kind circle=Circle square=Square
//busline:oneOf kind group=Group
type Shape interface{ Area() float64 }

// Circle is round.
type Circle struct {
	Radius float64 `json:"radius" jsonschema:"minimum=0"`
}

// Area is pi times the square of the radius, more or less.
func (c Circle) Area() float64 { return 3 * c.Radius * c.Radius }

type Square struct {
	Side float64 `json:"side"`
}

// Area is that of a square.
func (s *Square) Area() float64 { return s.Side * s.Side }

// Group is made of shapes.
type Group struct {
	Kind  string  `json:"kind"`
	Parts []Shape `json:"parts"`
}

// Area is that of all parts.
func (g Group) Area() (sum float64) {
	for _, part := range g.Parts {
		sum += part.Area()
	}
	return sum
}

// Shapes measures shapes.
type Shapes interface {
	// Measure measures a shape.
	//
	//busline:arg frame optional what is around it
	Measure(ctx context.Context, shape, frame Shape, others map[string]Shape) (largest Shape, err error)
}
