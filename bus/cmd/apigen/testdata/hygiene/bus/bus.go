// Package bus is called like another.
package bus

// Line is a line of buses.
type Line struct{ Number int }
