// Package enums has types whose constants are their only values.
package enums

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Colour
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Size
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Paints -host paints.example

// Colour is that of a paint.
type Colour string

const (
	Red  Colour = "red"
	Blue        = Colour("bl" + "ue")
)

const green, Default = Colour("green"), Red

const notAColour = "yellow"

// Size is that of a tin.
type Size uint8

const (
	_     Size = iota
	Small Size = 1 << iota
	Middle
	Large
)

// Paints mixes paints.
type Paints interface {
	// Mix mixes a paint.
	//
	//busline:arg base optional what it is made of
	//busline:arg second default=blue the other one
	Mix(ctx context.Context, colour Colour, base Colour, second Colour, sizes []Size) (mixed []Colour, err error)
}
