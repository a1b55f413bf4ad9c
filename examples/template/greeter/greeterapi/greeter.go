// Package greeterapi is what callers of greeter.example need: its interface, and a generated client.
package greeterapi

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Greeter
//go:generate go run github.com/golang/mock/mockgen -source greeter.go -destination greetermock/greeter.go -package greetermock -write_package_comment=false

// Host is where the service is on the bus.
const Host = "greeter.example"

// Greeter is polite. Its names and comments are the documentation of the service.
type Greeter interface {
	// Greet returns a greeting. It refuses an empty name.
	Greet(ctx context.Context, name string) (greeting string, err error)
	// Remind returns a text after a while. The time of its caller limits it.
	Remind(ctx context.Context, text string, seconds int) (reminder string, err error)
}
