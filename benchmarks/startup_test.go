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
		leave(b, caller)
		leave(b, server)
		b.StartTimer()
	}
}
