package main_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	main "github.com/busline/busline/benchmarks/peers/load"
)

// every returns times at regular intervals.
func every(interval time.Duration, count int) []time.Duration {
	due := make([]time.Duration, count)
	for i := range due {
		due[i] = time.Duration(i) * interval
	}
	return due
}

// stalling returns a call of a server that does one call at a time, each in 1 ms, but for one, for which it takes 295.
func stalling(stalled int) func(context.Context) error {
	idle, calls := make(chan struct{}, 1), 0
	return func(context.Context) error {
		idle <- struct{}{}
		defer func() { <-idle }()
		if calls++; calls == stalled {
			time.Sleep(294 * time.Millisecond)
		}
		time.Sleep(time.Millisecond)
		return nil
	}
}

// TestLoop_Stall holds that calls that were due during a stall count their wait. A closed loop would have a single slow
// call here.
func TestLoop_Stall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outcomes := main.Loop(t.Context(), stalling(21), 1000, every(10*time.Millisecond, 100))
		for i, each := range outcomes {
			want := time.Millisecond
			switch waiting := i - 20; { // behind the call that is due at 200 ms, and ends at 495
			case waiting == 0:
				want = 295 * time.Millisecond
			case waiting > 0 && waiting <= 32: // then the queue is empty
				want = time.Duration(295-9*waiting) * time.Millisecond
			}
			if each.Due != time.Duration(i)*10*time.Millisecond || each.Took != want || each.Status != "" {
				t.Errorf("call %d: %+v, want it to take %v", i, each, want)
			}
		}
		if _, p50, p99, _, _ := main.Summary(outcomes, 0); p50 != 1 || p99 != 286 {
			t.Errorf("p50 %v, p99 %v; want 1 and 286 ms", p50, p99)
		}
	})
}

// TestLoop_Late holds that a call counts from when it was due, too, if the loop itself is late.
func TestLoop_Late(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outcomes := main.Loop(t.Context(), func(context.Context) error { return nil }, 1, []time.Duration{-time.Second, 0})
		if outcomes[0].Took != time.Second {
			t.Errorf("it took %v, want 1s", outcomes[0].Took)
		}
	})
}

// TestLoop_Limit holds that what exceeds the limit of calls in flight is not sent, and counts as that.
func TestLoop_Limit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outcomes := main.Loop(t.Context(), stalling(1), 3, every(10*time.Millisecond, 40))
		_, _, _, _, failed := main.Summary(outcomes, 0)
		if len(failed) != 1 || math.Abs(failed[main.NotSent]-27.0/40) > 1e-9 { // the three that were sent end from 295 ms on
			t.Errorf("failed: %v, want %d of %d not sent", failed, 27, 40)
		}
		for i, each := range outcomes {
			if want := i >= 3 && i < 30; (each.Status == main.NotSent) != want {
				t.Errorf("call %d: %+v", i, each)
			}
		}
	})
}

func TestArrivals(t *testing.T) {
	t.Parallel()
	times := main.Arrivals(rand.New(rand.NewPCG(1, 2)), 1000, time.Second, 101*time.Second)
	if !slices.IsSorted(times) || times[0] < time.Second || times[len(times)-1] >= 101*time.Second {
		t.Errorf("from %v to %v", times[0], times[len(times)-1])
	}
	if count := len(times); count < 99_000 || count > 101_000 {
		t.Errorf("%d calls in 100 s at 1000/s", count)
	}
	long := 0
	for i := range times[1:] {
		if times[i+1]-times[i] > time.Millisecond {
			long++
		}
	}
	if share := float64(long) / float64(len(times)); math.Abs(share-1/math.E) > 0.01 {
		t.Errorf("%.3f of the intervals are longer than their mean, want 1/e", share)
	}
}

func TestRecovery(t *testing.T) {
	t.Parallel()
	var all []main.Outcome
	for at := time.Duration(0); at < 4*time.Second; at += time.Millisecond {
		took := time.Millisecond
		if at >= time.Second && at < 2300*time.Millisecond {
			took = 50 * time.Millisecond
		}
		all = append(all, main.Outcome{Due: at, Took: took})
	}
	recovery := func() float64 {
		return main.Recovery(all, 0, time.Second, 2*time.Second, 4*time.Second, 100*time.Millisecond)
	}
	if got := recovery(); got != 300 {
		t.Errorf("recovered after %v ms, want 300", got)
	}
	all[2450].Status = "503"
	if got := recovery(); got != 500 {
		t.Errorf("with a failure: recovered after %v ms, want 500", got)
	}
	for i := range all[3000:] {
		all[3000+i].Took = time.Second
	}
	for i := range all[2500:3000] {
		all[2500+i].Took = time.Second
	}
	if got := recovery(); !math.IsInf(got, 1) {
		t.Errorf("recovered after %v ms, want never", got)
	}
}
