package bus_test

import (
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

// TestOwnHost connects under what is no hostname: the error says so before the broker is asked, and what was meant.
func TestOwnHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"":                                `label "" is not 1 to 63 of`,
		"all":                             `the host "all" is reserved`,
		"two words.example":               `label "two words" is not 1 to 63 of a-z, 0-9 and inner hyphens`,
		"Calculator.example":              `did you mean "calculator.example"?`,
		"calculator.example:443":          `did you mean "calculator.example"?`,
		"https://Calculator.example:443/": `did you mean "calculator.example"?`,
		"calculator.example/add":          `did you mean "calculator.example"?`,
	} {
		_, err := bus.Connect(t.Context(), host, bus.WithURL("nats://127.0.0.1:1"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", host, err)
		}
	}
	_, err := bus.Connect(t.Context(), "https://all/", bus.WithURL("nats://127.0.0.1:1"))
	if err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("what is reserved is meant: %v", err)
	}
}

// TestShortCircuitSwitch reads what is to be one of two.
func TestShortCircuitSwitch(t *testing.T) { //nolint:paralleltest // the environment is that of the process
	b := newBus(t)
	for _, set := range []struct {
		value string
		fault bool
	}{{"", false}, {"0", false}, {"1", false}, {"false", false}, {"2", true}, {"off", true}} {
		t.Setenv("BUS_SHORT_CIRCUIT", set.value)
		conn, err := bus.Connect(t.Context(), "caller.example", bus.WithBroker(b.Broker()), bus.WithPlane(b.Plane()))
		if set.fault != (err != nil && strings.Contains(err.Error(), "BUS_SHORT_CIRCUIT")) {
			t.Errorf("%q: %v", set.value, err)
		}
		if err == nil {
			closeConn(t, conn)
		}
	}
}
