//go:build faults

package faulttest_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests, or what this binary was started for by one of them.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(runChild(role))
	}
	status := m.Run()
	if long() {
		fmt.Print(figures.table())
	}
	os.Exit(status)
}

// long says whether the tests run at full length.
func long() bool { return os.Getenv("BUSLINE_FAULTS") == "long" }

// pick returns the first value for the short form of a test, the second one for the long form.
func pick[T any](short, full T) T {
	if long() {
		return full
	}
	return short
}
