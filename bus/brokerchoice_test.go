package bus_test

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
)

// TestOneBroker holds that no option which says where the broker is has another one ignored.
func TestOneBroker(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	here, given, there := bus.WithBroker(b.Broker()), bus.WithNATS(rawClient(t, &world{Bus: b})), bus.WithURL("nats://127.0.0.1:1")
	for want, options := range map[string][]bus.ConnectOption{
		"bus.WithBroker and bus.WithURL":                  {here, there},
		"bus.WithNATS and bus.WithURL":                    {there, given},
		"bus.WithNATS and bus.WithBroker":                 {given, here},
		"bus.WithNATS and bus.WithBroker and bus.WithURL": {there, here, given},
	} {
		want = "connect x.example: " + want + " say which broker to use, each in its way: use one of them"
		if _, err := bus.Connect(t.Context(), "x.example", options...); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestBroker_OfATest gives way to what the code under test asks for.
func TestBroker_OfATest(t *testing.T) {
	t.Parallel()
	b, other := bustest.New(t), newBus(t)
	elsewhere, err := broker.Start(broker.Listen("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(elsewhere.Close)
	quiet := bus.WithLogger(zerolog.Nop())
	for name, option := range map[string]bus.ConnectOption{
		"given": bus.WithNATS(rawClient(t, &world{Bus: other})), "a URL": bus.WithURL(elsewhere.URL()), "another": bus.WithBroker(other.Broker()),
	} {
		conn := b.Connect("one.example", option, quiet)
		if conn.Plane() != b.Plane() {
			t.Errorf("%s: plane %s", name, conn.Plane())
		}
		if err := b.Connect("caller.example").Call(t.Context(), "https://one.example:888/ping", nil, nil); bus.StatusOf(err) != 503 {
			t.Errorf("%s: it is on the bus of the test: %v", name, err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
