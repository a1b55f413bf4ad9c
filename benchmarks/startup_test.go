package benchmarks_test

import (
	"testing"

	"github.com/busline/busline/bus"
)

// BenchmarkStartUp connects a service and a caller, serves, and makes the first call. The broker is there before.
func BenchmarkStartUp(b *testing.B) {
	b.Run("short-circuit", func(b *testing.B) { startUp(b, startBroker(b)) })
	b.Run("in-process-broker", func(b *testing.B) { startUp(b, startBroker(b), bus.WithoutSharing()) })
	b.Run("tcp-broker", func(b *testing.B) { startUp(b, startBroker(b, overTCP()), bus.WithoutSharing()) })
}

func startUp(b *testing.B, options ...bus.ConnectOption) {
	b.Helper()
	ctx := b.Context()
	for b.Loop() {
		server := open(b, serviceHost, options...)
		serve(b, server)
		caller := open(b, callerHost, options...)
		if err := typedClient(caller, serviceHost).adding()(ctx); err != nil {
			b.Error(err)
		}
		b.StopTimer()
		closeConn(b, caller)
		closeConn(b, server)
		b.StartTimer()
	}
}

// BenchmarkReady connects a service and serves, until the broker knows of it: on a connection that other services of
// the process have, too, and on one of its own.
func BenchmarkReady(b *testing.B) {
	b.Run("shared-connection", func(b *testing.B) {
		broker := startBroker(b, overTCP())
		connect(b, callerHost, broker)
		ready(b, broker)
	})
	b.Run("own-connection", func(b *testing.B) { ready(b, startBroker(b, overTCP()), bus.WithoutSharing()) })
}

func ready(b *testing.B, options ...bus.ConnectOption) {
	b.Helper()
	for b.Loop() {
		conn := open(b, serviceHost, options...)
		serve(b, conn)
		b.StopTimer()
		closeConn(b, conn)
		b.StartTimer()
	}
}
