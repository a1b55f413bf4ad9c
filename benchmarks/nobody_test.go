package benchmarks_test

import (
	"context"
	"errors"
	"testing"

	"github.com/busline/busline/bus"
)

// BenchmarkNobody calls a host without an instance: how soon the caller knows.
func BenchmarkNobody(b *testing.B) {
	for _, path := range busPaths() {
		b.Run(path.name, func(b *testing.B) {
			add := bus.NewOperation[addArguments, addResults](path.open(b).conn, "POST https://nobody.example/add")
			inModes(b, callersPerCore, path.clocked, func(ctx context.Context) error {
				if _, err := add.Call(ctx, addArguments{X: 5, Y: 6}); !errors.Is(err, bus.ErrNoResponder) {
					return errors.Join(errors.New("somebody answered"), err)
				}
				return nil
			})
		})
	}
}
