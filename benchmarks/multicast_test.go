package benchmarks_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/busline/busline/bus"
)

// BenchmarkMulticast calls several instances at once and takes all their answers. Each has a broker connection of its
// own, as if it were in another process. The first call of a caller has to find out who is there.
func BenchmarkMulticast(b *testing.B) {
	for _, instances := range []int{1, 4, 16} {
		b.Run(strconv.Itoa(instances), func(b *testing.B) {
			options := []bus.ConnectOption{startBroker(b, overTCP()), bus.WithoutSharing()}
			for range instances {
				serve(b, connect(b, serviceHost, options...), bus.NoQueue())
			}
			b.Run("first", func(b *testing.B) { firstMulticasts(b, instances, options) })
			b.Run("warm", func(b *testing.B) {
				serial(b, 1, multicast(connect(b, callerHost, options...), instances))
			})
		})
	}
}

// firstMulticasts makes each call with a caller that is new.
func firstMulticasts(b *testing.B, instances int, options []bus.ConnectOption) {
	b.Helper()
	ctx := b.Context()
	for b.Loop() {
		b.StopTimer()
		caller := open(b, callerHost, options...)
		call := multicast(caller, instances)
		b.StartTimer()
		if err := call(ctx); err != nil {
			b.Error(err)
		}
		b.StopTimer()
		closeConn(b, caller)
		b.StartTimer()
	}
}

// multicast returns a call to all instances that takes every answer.
func multicast(caller *bus.Conn, instances int) operation {
	add := bus.NewOperation[addArguments, addResults](caller, "POST https://"+serviceHost+"/add")
	return func(ctx context.Context) error {
		answers := 0
		for response, err := range add.Multicast(ctx, addArguments{X: 5, Y: 6}) {
			if err != nil {
				return err
			}
			if response.Results.Sum == 11 {
				answers++
			}
		}
		if answers != instances {
			return fmt.Errorf("%d right answers of %d", answers, instances)
		}
		return nil
	}
}
