package bustest

import (
	"testing"

	"github.com/busline/busline/bus"
)

// CheckNames fails the test when a service would not have all its names and doc comments in production: see
// [bus.CheckNames]. It takes what [bus.Serve] is given, and needs no bus:
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
