// Package natsconntest opens broker connections for the tests of the packages that use one.
package natsconntest

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/internal/natsconn"
)

// Dial opens a connection until the test ends. It logs nothing.
func Dial(t *testing.T, config natsconn.Config) *natsconn.Conn {
	t.Helper()
	lines := new(logqueue.Queue)
	conn, err := natsconn.Dial(t.Context(), "test", config, zerolog.Nop(), lines)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		lines.Flush(context.Background())
	})
	return conn
}

// Connect runs a broker in the process, and opens a connection and a raw connection to it, until the test ends.
func Connect(t *testing.T, options ...broker.Option) (conn *natsconn.Conn, raw *nats.Conn) {
	t.Helper()
	started, err := broker.Start(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Close)
	conn = Dial(t, natsconn.Config{Provider: started})
	if raw, err = nats.Connect("", nats.InProcessServer(started)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	return conn, raw
}
