package benchmarks_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busline/busline/benchmarks/latency"
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

// latencies counts how long the calls of one goroutine took.
type latencies struct {
	latency.Histogram

	every, turn int // one call of so many is timed; 0 for none
}

// time makes a call, and notes how long it took when it is the turn of this one.
func (l *latencies) time(call func()) {
	if l.turn++; l.turn != l.every {
		call()
		return
	}
	l.turn = 0
	start := time.Now()
	call()
	l.Add(time.Since(start))
}

// report reports below which time half of the calls stayed, 99 of 100 and 999 of 1000. Of several goroutines, all are
// counted.
func report(b *testing.B, all []latencies) {
	b.Helper()
	var sum latency.Histogram
	for i := range all {
		sum.Merge(&all[i].Histogram)
	}
	if sum.Count() == 0 {
		return
	}
	b.ReportMetric(float64(sum.Quantile(0.5)), "p50-ns")
	b.ReportMetric(float64(sum.Quantile(0.99)), "p99-ns")
	b.ReportMetric(float64(sum.Quantile(0.999)), "p999-ns")
}
