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

// transports are the ways to make a world out of a bus. In the last one what stays in the process also goes through the
// bytes, and has to come out the same.
func transports() map[string]func(*bustest.Bus) *world {
	return map[string]func(*bustest.Bus) *world{
		"broker":        func(b *bustest.Bus) *world { return &world{b, bus.WithoutShortCircuit()} },
		"short circuit": func(b *bustest.Bus) *world { return &world{b, withShortCircuit(true)} },
		"short circuit, checked": func(b *bustest.Bus) *world {
			b.CheckShortCircuit()
			return &world{b, withShortCircuit(true)}
		},
	}
}

// overBoth runs a test over each transport: what holds for one has to hold for the other.
func overBoth(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for name, transport := range transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, transport(bustest.New(t)))
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

// withShortCircuit returns an option that leaves the short circuit on, or turns it off.
func withShortCircuit(on bool) bus.ConnectOption {
	if on {
		return bus.WithInterceptors() // none
	}
	return bus.WithoutShortCircuit()
}
