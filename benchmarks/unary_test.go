package benchmarks_test

import (
	"context"
	"testing"
)

func BenchmarkAdd(b *testing.B) {
	overPaths(b, callersPerCore, client.adding)
}

func BenchmarkEcho1KiB(b *testing.B) {
	overPaths(b, callersPerCore, func(c client) operation { return c.echoing(1 << 10) })
}

func BenchmarkEcho64KiB(b *testing.B) {
	overPaths(b, largeCallersPerCore, func(c client) operation { return c.echoing(64 << 10) })
}

// BenchmarkEcho3MiB takes four messages of the broker in each direction.
func BenchmarkEcho3MiB(b *testing.B) {
	overPaths(b, largeCallersPerCore, func(c client) operation {
		// A service bounds what one caller has on its way, see bus.WithMaxMessageBytes, and an ingress what it holds.
		room, echo := make(chan struct{}, 8), c.echoing(3<<20)
		return func(ctx context.Context) error {
			room <- struct{}{}
			defer func() { <-room }()
			return echo(ctx)
		}
	})
}
