package rounds

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// cost is the cost of a call.
type cost struct {
	time   float64 // seconds between calls, of all callers together
	cpu    float64 // seconds of the whole process
	writes float64 // system calls
	bytes  float64 // allocated
	allocs float64
}

// load has all callers call repeatedly at the same time, for the given duration. Each calls at least once.
func load(ctx context.Context, callers []Call, each time.Duration) (cost, error) {
	runtime.GC() // earlier garbage does not count
	var over atomic.Bool
	var wait sync.WaitGroup
	counts, errs := make([]int, len(callers)), make([]error, len(callers))
	before := readMeters()
	alarm := time.AfterFunc(each, func() { over.Store(true) })
	defer alarm.Stop()
	for i, call := range callers {
		wait.Go(func() { counts[i], errs[i] = repeat(ctx, call, &over) })
	}
	wait.Wait()
	after := readMeters()
	calls := 0
	for _, count := range counts {
		calls += count
	}
	return after.since(before).divided(float64(calls)), errors.Join(errs...)
}

// repeat calls until the time is over, and returns the number of calls.
func repeat(ctx context.Context, call Call, over *atomic.Bool) (count int, err error) {
	for first := true; first || !over.Load(); first = false {
		if err := call(ctx); err != nil {
			over.Store(true)
			return count, err
		}
		count++
	}
	return count, nil
}
