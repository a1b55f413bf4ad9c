// Package tableonly has no client, so that its methods need no error.
package tableonly

//go:generate go run github.com/busline/busline/reflectapi/apigen -type Clock -client none

// Clock tells the time.
type Clock interface {
	// Hour is from 0 to 23.
	Hour(zone string) int
	// ForHost would be in the way of a client.
	ForHost(host string) (name string)
}
