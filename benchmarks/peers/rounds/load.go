package rounds

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busline/busline/benchmarks/latency"
)

// Cost is what a call costs, on average.
type Cost struct {
	Time   float64 // seconds between calls, of all callers together
	CPU    float64 // seconds of all processes
	Writes float64 // system calls of all processes
	Bytes  float64 // allocated by this process
	Allocs float64

	latencies latency.Histogram
}

// quantile returns how many seconds a share of the calls stayed below.
func (c *Cost) quantile(share float64) float64 { return c.latencies.Quantile(share).Seconds() }

// load has all callers call repeatedly at the same time, for the given duration. Each calls at least once.
func load(ctx context.Context, setup *Setup, callers []Call, each time.Duration) (*Cost, error) {
	runtime.GC() // earlier garbage does not count
	var over atomic.Bool
	var wait sync.WaitGroup
	latencies, errs := make([]latency.Histogram, len(callers)), make([]error, len(callers))
	before := readMeters(setup)
	alarm := time.AfterFunc(each, func() { over.Store(true) })
	defer alarm.Stop()
	for i, call := range callers {
		wait.Go(func() { errs[i] = repeat(ctx, call, &latencies[i], &over) })
	}
	wait.Wait()
	after := readMeters(setup)
	made := after.since(before)
	for i := range latencies {
		made.latencies.Merge(&latencies[i])
	}
	made.divide(float64(made.latencies.Count()))
	return made, errors.Join(errs...)
}

// repeat calls until the time is over, and notes how long each call takes.
func repeat(ctx context.Context, call Call, took *latency.Histogram, over *atomic.Bool) error {
	for first := true; first || !over.Load(); first = false {
		began := time.Now()
		if err := call(ctx); err != nil {
			over.Store(true)
			return err
		}
		took.Add(time.Since(began))
	}
	return nil
}
