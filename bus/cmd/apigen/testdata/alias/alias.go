// Package alias serves interfaces of other packages.
package alias

import (
	"example.com/cases/calculator"
	"example.com/cases/embedded/other"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type API -host sums.example
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Counting -client CountingClient

// API is what others call Calculator, which has its table where it is declared.
type API = calculator.Calculator

// Counting is an interface that nobody made a table for.
type Counting = other.Counter
