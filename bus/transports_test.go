package bus_test

import (
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
)

// world is a bus whose connections all use one transport.
type world struct {
	*bustest.Bus
	transport bus.ConnectOption
}

func (w *world) connect(host string, options ...bus.ConnectOption) *bus.Conn {
	return w.Connect(host, append([]bus.ConnectOption{w.transport}, options...)...)
}

// overBoth runs a test over each transport: what holds for one has to hold for the other.
func overBoth(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for name, shortCircuit := range map[string]bool{"broker": false, "short circuit": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &world{Bus: bustest.New(t), transport: bus.WithShortCircuit(shortCircuit)})
		})
	}
}

func serve[T any](t *testing.T, conn *bus.Conn, impl T, options ...bus.ServeOption) {
	t.Helper()
	if err := bus.Serve(conn, impl, options...); err != nil {
		t.Fatal(err)
	}
}

func newBus(t *testing.T, options ...broker.Option) *bustest.Bus {
	t.Helper()
	return bustest.New(t, options...)
}
