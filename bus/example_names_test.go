package bus_test

import (
	"embed"
	"fmt"

	"github.com/busline/busline/bus"
)

// The files of the package that declares the service: usually *.go.
//
//go:embed example_names_test.go
var source embed.FS

// Adder adds.
type Adder struct{}

// Add returns the sum of x and y.
func (Adder) Add(x, y int) (sum int) { return x + y }

// A compiled program has no names of arguments. With its source in the program it has them in every build, also with
// -trimpath and -ldflags=-s.
func ExampleSource() {
	fmt.Println(bus.CheckNames(Adder{}, bus.SourceFS(source)))
	// Output: <nil>
}

// Divider divides.
type Divider struct{}

// Divide divides x by y. Its results have no names.
func (Divider) Divide(x, y int) (int, int) { return x / y, x % y }

// What has no names is given them, for callers to use. Serve takes the same options.
func ExampleParamNames() {
	_, err := bus.OpenAPIOf("divider.example", Divider{})
	fmt.Println(err == nil)
	_, err = bus.OpenAPIOf("divider.example", Divider{}, bus.ParamNames("Divide", "x, y", "quotient, remainder"))
	fmt.Println(err == nil)
	// Output:
	// false
	// true
}
