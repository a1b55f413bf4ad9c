package faulttest_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

// TestMain runs the tests, or what this binary was started for by one of them.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(runChild(role))
	}
	// they wait more than they work; at full length each runs alone, so that none disturbs the figures of another
	if err := flag.Set("test.parallel", pick("6", "1")); err != nil {
		panic(err)
	}
	status := m.Run()
	if long() {
		fmt.Print(figures.table())
	}
	os.Exit(status)
}

// long reports whether the tests run at full length.
func long() bool { return os.Getenv("BUSLINE_FAULTS") == "long" }

// pick returns the first value for the short form of a test, the second one for the long form.
func pick[T any](short, full T) T {
	if long() {
		return full
	}
	return short
}

// callBudget returns the time budget of calls that a test waits for: in the short form one that nothing but the fault
// uses up, however busy the machine is.
func callBudget(full time.Duration) time.Duration { return pick(3*time.Second, full) }
