package benchmarks_test

import (
	"context"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// startBroker runs a broker as long as the benchmark, and returns the way to it: over TCP if it listens.
func startBroker(b *testing.B, options ...broker.Option) bus.ConnectOption {
	b.Helper()
	embedded, err := broker.Start(options...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(embedded.Close)
	if url := embedded.URL(); url != "" {
		return bus.WithURL(url)
	}
	return bus.WithBroker(embedded)
}

// overTCP has a broker listen on loopback.
func overTCP() broker.Option { return broker.Listen("127.0.0.1:0") }

// connect opens a connection that is closed after the benchmark.
func connect(b *testing.B, host string, options ...bus.ConnectOption) *bus.Conn {
	b.Helper()
	conn := open(b, host, options...)
	b.Cleanup(func() { closeConn(b, conn) })
	return conn
}

func open(b *testing.B, host string, options ...bus.ConnectOption) *bus.Conn {
	b.Helper()
	conn, err := bus.Connect(b.Context(), host, append([]bus.ConnectOption{bus.WithLogger(zerolog.Nop())}, options...)...)
	if err != nil {
		b.Fatal(err)
	}
	return conn
}

func closeConn(b *testing.B, conn *bus.Conn) {
	b.Helper()
	if err := conn.Close(context.Background()); err != nil {
		b.Error(err)
	}
}

func serve(b *testing.B, conn *bus.Conn, options ...bus.ServeOption) {
	b.Helper()
	if err := bus.Serve(conn, service{}, options...); err != nil {
		b.Fatal(err)
	}
}
