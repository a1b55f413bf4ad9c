package benchmarks_test

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// heavyCallers is how many calls the other caller has in flight all the time.
const heavyCallers = 500

// BenchmarkFairness measures how long a caller with one call at a time waits beside one with 500.
func BenchmarkFairness(b *testing.B) {
	for _, path := range busPaths() {
		b.Run(path.name, func(b *testing.B) {
			options := path.join(b)
			serve(b, connect(b, serviceHost, options...))
			heavy := typedClient(connect(b, "heavy.example", options...), serviceHost).adding()
			light := typedClient(connect(b, callerHost, options...), serviceHost).adding()
			ctx, stop := context.WithCancel(context.Background())
			var calling sync.WaitGroup
			for range heavyCallers {
				calling.Go(func() {
					for ctx.Err() == nil {
						if err := heavy(context.Background()); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			b.Run("serial", func(b *testing.B) { serial(b, 1, light) })
			stop()
			calling.Wait()
		})
	}
}

// BenchmarkCallers measures how long many callers in the process of a service wait for it. A processor runs one of them
// for some milliseconds before the next, so that a few calls in a thousand wait for all others.
func BenchmarkCallers(b *testing.B) {
	const clocked = 8
	for _, callers := range []int{128, 2000} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			perCore := max(1, callers/runtime.GOMAXPROCS(0))
			parallel(b, perCore, clocked, busClient(b, startBroker(b)).adding())
		})
	}
}
