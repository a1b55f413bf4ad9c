package benchmarks_test

import (
	"context"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/interceptors"
)

// BenchmarkIdempotent measures what a key costs: a call without one, the first with one, and a repeat.
func BenchmarkIdempotent(b *testing.B) {
	for _, test := range []struct {
		name string
		key  func(ctx context.Context) context.Context
	}{
		{"without", func(ctx context.Context) context.Context { return ctx }},
		{"first", func(ctx context.Context) context.Context { return interceptors.WithIdempotencyKey(ctx, "") }},
		{"repeat", func(ctx context.Context) context.Context { return interceptors.WithIdempotencyKey(ctx, "key") }},
	} {
		b.Run(test.name, func(b *testing.B) {
			options := []bus.ConnectOption{startBroker(b, overTCP(), broker.JetStream(b.TempDir())), bus.WithoutSharing()}
			serving, caller := connect(b, serviceHost, options...), connect(b, callerHost, options...)
			once, err := interceptors.Idempotent(b.Context(), serving)
			if err != nil {
				b.Fatal(err)
			}
			if err := bus.Serve(serving, &service{}, bus.Intercept(once)); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := caller.Call(test.key(b.Context()), "POST https://"+serviceHost+"/add", bus.Args{"x": 1, "y": 2},
					nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
