package bus_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// TestOwnHost connects under what is no hostname: the error says so before the broker is asked, and what was meant.
func TestOwnHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"":                                `label "" is not 1 to 63 characters of`,
		"all":                             `the host "all" is reserved`,
		"two words.example":               `label "two words" is not 1 to 63 characters of a-z, 0-9 and inner hyphens`,
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
		err   bool
	}{{"", false}, {"0", false}, {"1", false}, {"false", false}, {"2", true}, {"off", true}} {
		t.Setenv("BUS_SHORT_CIRCUIT", set.value)
		conn, err := bus.Connect(t.Context(), "caller.example", bus.WithBroker(b.Broker()), bus.WithPlane(b.Plane()))
		if set.err != (err != nil && strings.Contains(err.Error(), "BUS_SHORT_CIRCUIT")) {
			t.Errorf("%q: %v", set.value, err)
		}
		if err == nil {
			closeConn(t, conn)
		}
	}
}

// TestOptionsWinOverFaultyVariables holds that what an option says instead is not asked of the environment.
func TestOptionsWinOverFaultyVariables(t *testing.T) { //nolint:paralleltest // the environment is that of the process
	b := newBus(t)
	given, err := nats.Connect("", nats.InProcessServer(b.Broker()), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	here := bus.WithBroker(b.Broker())
	for _, test := range []struct {
		name, value string
		instead     []bus.ConnectOption
	}{
		{"BUS_SHORT_CIRCUIT", "perhaps", []bus.ConnectOption{here, bus.WithoutShortCircuit()}},
		{"BUS_PLANE", "a.b", []bus.ConnectOption{here, bus.WithPlane(b.Plane())}},
		{"BUS_BASE_URL", "nonsense", []bus.ConnectOption{here, bus.WithBaseURL("https://api.example.com")}},
		{"BUS_NATS_CERT", "alone.pem", []bus.ConnectOption{bus.WithNATS(given)}},
		{"BUS_NATS_URL", "two words", []bus.ConnectOption{bus.WithNATS(given)}},
		{"BUS_LOG_LEVEL", "loud", []bus.ConnectOption{here, bus.WithLogger(zerolog.Nop())}},
		{"BUS_LOG_FORMAT", "xml", []bus.ConnectOption{here, bus.WithLogger(zerolog.Nop())}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(test.name, test.value)
			if conn, err := bus.Connect(t.Context(), "caller.example", here); err == nil {
				closeConn(t, conn)
				t.Errorf("%s=%s passes without an option", test.name, test.value)
			}
			conn, err := bus.Connect(t.Context(), "caller.example", test.instead...)
			if err != nil {
				t.Fatal(err)
			}
			closeConn(t, conn)
		})
	}
}
