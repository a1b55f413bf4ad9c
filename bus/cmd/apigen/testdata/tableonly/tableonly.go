// Package tableonly has no client: its methods need no error, and their routes can be chosen
// when they are served.
package tableonly

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Clock -client none

// Clock tells the time.
type Clock interface {
	// Hour is from 0 to 23.
	Hour(zone string) int
	// ForHost would be in the way of a client.
	ForHost(host string) (name string)
	// WindREST says by its name that it is REST, and not where.
	WindREST(turns int) error
	// Read and Get would have one route.
	Read(id string) (httpResponseBody string, err error)
	// Get and Read would have one route.
	Get(id string) (httpResponseBody string, err error)
	// Patch does not say which one.
	Patch(httpRequestBody string) error
}
