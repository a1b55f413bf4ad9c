package benchmarks_test

import (
	"context"
	"testing"

	"github.com/busline/busline/bus"
)

// relay has another service do what it is asked to do.
type relay struct{ next client }

// Add returns the sum of x and y.
func (r relay) Add(ctx context.Context, x, y int) (sum int, err error) {
	out, err := r.next.add(ctx, addArguments{X: x, Y: y})
	return out.Sum, err
}

const relayHost = "relay.example"

// BenchmarkRelayedAdd is BenchmarkAdd through a handler that calls on, with its context: two calls.
func BenchmarkRelayedAdd(b *testing.B) {
	for _, path := range busPaths() {
		b.Run(path.name, func(b *testing.B) {
			options := path.join(b)
			serve(b, connect(b, serviceHost, options...))
			between := connect(b, relayHost, options...)
			if err := bus.Serve(between, relay{typedClient(between, serviceHost)}); err != nil {
				b.Fatal(err)
			}
			inModes(b, callersPerCore, path.clocked, typedClient(connect(b, callerHost, options...), relayHost).adding())
		})
	}
}
