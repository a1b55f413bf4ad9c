package bustest

import (
	"testing"

	"github.com/busline/busline/bus"
)

// CheckNames fails the test if a service would lack names or doc comments in production: see [bus.CheckNames]. It takes
// the arguments of [bus.Serve] except the connection, and needs no bus:
//
//	func TestNames(t *testing.T) {
//		bustest.CheckNames[calculatorapi.Calculator](t, calculatorsvc.Calculator{})
//	}
func CheckNames[T any](t testing.TB, impl T, options ...bus.ServeOption) {
	t.Helper()
	if err := bus.CheckNames(impl, options...); err != nil {
		t.Errorf("bustest: names of %T:\n%v", impl, err)
	}
}
