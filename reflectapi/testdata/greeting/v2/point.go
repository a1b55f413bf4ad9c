// Package greeting has the name of the package above it, and a type of the same name.
package greeting

// Point is a third place.
type Point struct {
	Z int `json:"z"`
}
