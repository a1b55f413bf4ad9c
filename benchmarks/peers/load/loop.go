package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// notSent is the status of a call that was not made, as too many were in flight.
const notSent = "not sent"

// shortest is how long the loop sleeps at least: at high rates several calls start together, which costs less, and late
// by no more than that.
const shortest = 100 * time.Microsecond

// loop makes calls at given times.
type loop struct {
	call     func(context.Context) error // safe for concurrent use
	statusOf func(error) string
	limit    int // of calls in flight
	sleep    func(time.Duration)
}

// outcome is what became of a call.
type outcome struct {
	due    time.Duration // when it had to start, from the start of the loop
	took   time.Duration // from then to its end
	status string        // of its failure; "" if it was answered
}

// arrivals draws the times of calls that come independently of each other, at a rate per second: the intervals are
// exponentially distributed.
func arrivals(random *rand.Rand, rate float64, from, to time.Duration) []time.Duration {
	times := make([]time.Duration, 0, int(rate*(to-from).Seconds()*1.1)+1)
	for at := from.Seconds(); ; {
		at += random.ExpFloat64() / rate
		if at >= to.Seconds() {
			return times
		}
		times = append(times, time.Duration(at*float64(time.Second)))
	}
}

// run starts each call when it is due, or as soon as it can be after that, and returns when all have ended.
func (l *loop) run(ctx context.Context, due []time.Duration) []outcome {
	outcomes := make([]outcome, len(due))
	var inFlight atomic.Int64
	var wait sync.WaitGroup
	calls := make(chan int) // to a caller that waits for its next call
	start := time.Now()
	makeCall := func(i int) {
		err := l.call(ctx)
		outcomes[i].took = time.Since(start) - due[i]
		if err != nil {
			outcomes[i].status = l.statusOf(err)
		}
		inFlight.Add(-1)
	}
	for i, at := range due {
		if early := at - time.Since(start); early > 0 {
			l.sleep(max(early, shortest))
		}
		outcomes[i].due = at
		if inFlight.Load() >= int64(l.limit) || ctx.Err() != nil {
			outcomes[i].status = notSent
			continue
		}
		inFlight.Add(1)
		select {
		case calls <- i: // its goroutine has the stack that a call needs
		default:
			wait.Go(func() {
				makeCall(i)
				for next := range calls {
					makeCall(next)
				}
			})
		}
	}
	close(calls)
	wait.Wait()
	return outcomes
}

// capacity returns how many calls per second are answered if each of many callers calls again when its call has ended.
func (l *loop) capacity(ctx context.Context, callers int, each time.Duration) float64 {
	var answered atomic.Int64
	var wait sync.WaitGroup
	start := time.Now()
	for range callers {
		wait.Go(func() {
			for first := true; first || time.Since(start) < each && ctx.Err() == nil; first = false {
				if l.call(ctx) == nil {
					answered.Add(1)
				}
			}
		})
	}
	wait.Wait()
	return float64(answered.Load()) / time.Since(start).Seconds()
}
