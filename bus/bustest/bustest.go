// Package bustest gives a test a bus of its own: a broker in the process and a plane that nobody else is on.
//
//	func TestAdd(t *testing.T) {
//		b := bustest.New(t)
//		conn := b.Connect("calculator.example")
//		if err := bus.Serve(conn, Calculator{}); err != nil {
//			t.Fatal(err)
//		}
//		caller := b.Connect("caller.example")
//		…
//	}
//
// Nothing has to be installed, nothing listens on a socket, and everything is closed when the test ends. Tests
// with a bus of their own may run in parallel.
package bustest

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/rs/zerolog"
)

// closeTimeout bounds how long the end of a test waits for handlers that are still running.
const closeTimeout = 10 * time.Second

// ackWait is longer than outside of tests: a machine that builds and tests many things at once may well be busy for
// a second, and a test that fails then tells nothing.
const ackWait = 10 * time.Second

// Bus is a broker and a plane for one test.
type Bus struct {
	t      testing.TB
	broker *broker.Broker
	plane  string
	log    *log
}

// New starts a broker in this process; it is stopped when the test ends. The options are those of the broker:
// broker.JetStream(t.TempDir()), say.
func New(t testing.TB, options ...broker.Option) *Bus {
	t.Helper()
	started, err := broker.Start(options...)
	if err != nil {
		t.Fatalf("bustest: %v", err)
	}
	t.Cleanup(started.Close)
	return &Bus{t: t, broker: started, plane: "test-" + rand.Text(), log: newLog(t)}
}

// Connect joins the test's bus. The connection logs to the test, and is closed when the test ends: handlers that
// then run for more than 10 s fail it. Options come after those of the test and win.
func (b *Bus) Connect(host string, options ...bus.ConnectOption) *bus.Conn {
	b.t.Helper()
	conn, err := bus.Connect(b.t.Context(), host, append(b.options(), options...)...)
	if err != nil {
		b.t.Fatalf("bustest: %v", err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := conn.Close(ctx); err != nil {
			b.t.Errorf("bustest: %v", err)
		}
	})
	return conn
}

func (b *Bus) options() []bus.ConnectOption {
	return []bus.ConnectOption{
		bus.WithBroker(b.broker),
		bus.WithPlane(b.plane),
		bus.WithAckWait(ackWait),
		bus.WithLogger(zerolog.New(b.log).Level(zerolog.WarnLevel)),
	}
}

// Plane returns the plane of the test.
func (b *Bus) Plane() string { return b.plane }

// Broker returns the broker of the test.
func (b *Bus) Broker() *broker.Broker { return b.broker }
