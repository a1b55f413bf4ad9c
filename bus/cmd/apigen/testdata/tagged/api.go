// Package tagged has a file for each of two builds, and one for none.
package tagged

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Machine

// Machine is different in every build.
type Machine interface{ Parts }
