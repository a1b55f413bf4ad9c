package benchmarks_test

import (
	"context"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// caller makes one call.
type caller func(address string, arguments, result any) error

// callersPerCore is how many callers a parallel run has for each core: enough to keep the bus busy.
const callersPerCore = 64

// overPaths runs a benchmark over each way that a call can take, with one caller and with many.
func overPaths(b *testing.B, once func(b *testing.B, call caller)) {
	b.Helper()
	for _, path := range []struct {
		name         string
		broker       []broker.Option
		shortCircuit bool
	}{
		{name: "short-circuit", shortCircuit: true},
		{name: "in-process-broker"},
		{name: "tcp-broker", broker: []broker.Option{broker.Listen("127.0.0.1:0")}},
	} {
		b.Run(path.name, func(b *testing.B) {
			call := connect(b, path.broker, path.shortCircuit)
			b.Run("serial", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					once(b, call)
				}
			})
			b.Run("parallel", func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(callersPerCore)
				b.RunParallel(func(each *testing.PB) {
					for each.Next() {
						once(b, call)
					}
				})
			})
		})
	}
}

// connect starts a broker and a service, and returns a caller on a broker connection of its own.
func connect(b *testing.B, brokerOptions []broker.Option, shortCircuit bool) caller {
	b.Helper()
	embedded, err := broker.Start(brokerOptions...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(embedded.Close)
	options := []bus.ConnectOption{bus.WithShortCircuit(shortCircuit), bus.WithLogger(zerolog.Nop())}
	if url := embedded.URL(); url != "" {
		options = append(options, bus.WithURL(url))
	} else {
		options = append(options, bus.WithBroker(embedded))
	}
	if !shortCircuit {
		options = append(options, bus.WithoutSharing())
	}
	server := open(b, "service.example", options)
	if err := bus.Serve(server, service{}); err != nil {
		b.Fatal(err)
	}
	client := open(b, "caller.example", options)
	return func(address string, arguments, result any) error {
		return bus.Call(b.Context(), client, address, arguments, result)
	}
}

func open(b *testing.B, host string, options []bus.ConnectOption) *bus.Conn {
	b.Helper()
	conn, err := bus.Connect(b.Context(), host, options...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return conn
}
