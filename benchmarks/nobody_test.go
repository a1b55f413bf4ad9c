package benchmarks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// BenchmarkNobody calls a host without an instance: how soon the caller knows.
func BenchmarkNobody(b *testing.B) {
	for _, path := range busPaths() {
		b.Run(path.name, func(b *testing.B) {
			caller := path.open(b).conn
			time.Sleep(time.Second) // until then an instance may be starting
			add := bus.NewOperation[addArguments, addResults](caller, "POST https://nobody.example/add")
			inModes(b, callersPerCore, path.clocked, func(ctx context.Context) error {
				if _, err := add.Call(ctx, addArguments{X: 5, Y: 6}); !errors.Is(err, bus.ErrNoResponder) {
					return errors.Join(errors.New("somebody answered"), err)
				}
				return nil
			})
		})
	}
}
