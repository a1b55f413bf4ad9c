package cli

import (
	"context"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// benchRun is a running bench.
type benchRun struct {
	concurrency int
	left        atomic.Int64 // calls that have not begun
	ends        time.Duration
	begun       time.Time
	took        time.Duration
	done        atomic.Int64

	mu        sync.Mutex // protects all fields below
	latencies histogram
	outcomes  map[int]*outcome // by status
}

// outcome are the calls with one status.
type outcome struct {
	count  int64
	detail string // of the first failed call
}

func newBenchRun(f *benchFlags) *benchRun {
	r := &benchRun{concurrency: f.concurrency, ends: f.duration, outcomes: make(map[int]*outcome)}
	r.left.Store(math.MaxInt64)
	if f.calls > 0 {
		r.left.Store(int64(f.calls))
	}
	return r
}

// run makes the calls, and returns when the last one has ended.
func (r *benchRun) run(ctx context.Context, call func(context.Context) (status int, detail string)) {
	r.begun = time.Now()
	var callers sync.WaitGroup
	for range r.concurrency {
		callers.Go(func() {
			for r.goesOn(ctx) {
				began := time.Now()
				status, detail := call(ctx)
				if ctx.Err() == nil || status < http.StatusBadRequest { // failures caused by the interruption do not count
					r.note(time.Since(began), status, detail)
				}
			}
		})
	}
	callers.Wait()
	r.took = time.Since(r.begun)
}

// goesOn takes one of the remaining calls.
func (r *benchRun) goesOn(ctx context.Context) bool {
	if ctx.Err() != nil || r.ends > 0 && time.Since(r.begun) >= r.ends {
		return false
	}
	return r.left.Add(-1) >= 0
}

func (r *benchRun) note(took time.Duration, status int, detail string) {
	r.done.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies.add(took)
	if r.outcomes[status] == nil {
		r.outcomes[status] = &outcome{detail: detail}
	}
	r.outcomes[status].count++
}
