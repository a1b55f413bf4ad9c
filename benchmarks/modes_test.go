package benchmarks_test

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// How many callers a parallel run has for each core: enough to keep the bus busy, not so many that what they have on
// its way fills the memory.
const (
	callersPerCore      = 64
	largeCallersPerCore = 8
)

// overPaths runs a benchmark over each way that a call can take, with one caller and with many.
func overPaths(b *testing.B, perCore int, prepare func(client) operation) {
	b.Helper()
	for _, path := range paths() {
		b.Run(path.name, func(b *testing.B) {
			call := prepare(path.open(b))
			inModes(b, perCore, path.clocked, call)
		})
	}
}

// inModes runs a benchmark with one caller and with many.
func inModes(b *testing.B, perCore, clocked int, call operation) {
	b.Helper()
	b.Run("serial", func(b *testing.B) { serial(b, clocked, call) })
	b.Run("parallel", func(b *testing.B) { parallel(b, perCore, clocked, call) })
}

func serial(b *testing.B, clocked int, call operation) {
	b.Helper()
	ctx, kept := b.Context(), make([]latencies, 1)
	kept[0].every = clocked
	once := func() {
		if err := call(ctx); err != nil {
			b.Error(err)
		}
	}
	once() // what only the first call does
	b.ReportAllocs()
	reportWrites := countWrites(b)
	for b.Loop() {
		kept[0].time(once)
	}
	reportWrites()
	report(b, kept)
}

func parallel(b *testing.B, perCore, clocked int, call operation) {
	b.Helper()
	ctx, kept := b.Context(), make([]latencies, perCore*runtime.GOMAXPROCS(0))
	var callers atomic.Int32
	b.SetParallelism(perCore)
	b.ReportAllocs()
	reportWrites := countWrites(b)
	b.ResetTimer()
	b.RunParallel(func(each *testing.PB) {
		own := &kept[callers.Add(1)-1]
		own.every = clocked
		once := func() {
			if err := call(ctx); err != nil {
				b.Error(err) // not Fatal: this goroutine is not the benchmark's
			}
		}
		for each.Next() {
			own.time(once)
		}
	})
	b.StopTimer()
	reportWrites()
	report(b, kept)
}
