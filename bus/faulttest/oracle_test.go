package faulttest_test

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// oracle knows what callers got and what handlers have done. Callers and instances of one test share it.
type oracle struct {
	memory    memoryJournal // of the instances of this process
	numbers   atomic.Uint64
	succeeded atomic.Int64

	mu      sync.Mutex // protects all below
	records []record
	files   []string // journals of other processes
	errs    []window
}

// window is how long something was broken.
type window struct{ from, to time.Time }

// record is what came of one call.
type record struct {
	id           uint64
	began, ended time.Time
	budget       time.Duration
	err          error
	answered     uint64 // the number that came back
	relays       bool   // whether its handler makes a call
}

// file returns where another process keeps its journal.
func (o *oracle) file(t *testing.T) string {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	path := filepath.Join(t.TempDir(), "journal"+strconv.Itoa(len(o.files)))
	o.files = append(o.files, path)
	return path
}

// call makes one call, under a number of its own, and remembers what came of it.
func (o *oracle) call(ctx context.Context, from *bus.Conn, address string, task task, budget time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	task.ID = o.numbers.Add(1)
	var answer struct{ Did uint64 }
	began := time.Now()
	err := from.Call(ctx, address, task, &answer)
	ended := time.Now()
	if err == nil {
		o.succeeded.Add(1)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.records = append(o.records, record{task.ID, began, ended, budget, err, answer.Did, address == relayAddress})
	return err
}

// await returns when so many further calls have succeeded.
func (o *oracle) await(t *testing.T, more int64) {
	t.Helper()
	before := o.succeeded.Load()
	until(t, "calls succeed", func() bool { return o.succeeded.Load() >= before+more })
}

// between returns what came of the calls that began in a time.
func (o *oracle) between(from, to time.Time) (found []record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, each := range o.records {
		if !each.began.Before(from) && each.began.Before(to) {
			found = append(found, each)
		}
	}
	return found
}

// firstSuccess returns how long after a moment the first call ended well that began later than that; zero when none
// has.
func (o *oracle) firstSuccess(after time.Time) time.Duration {
	var ends []time.Duration
	for _, each := range o.between(after, time.Now()) {
		if each.err == nil {
			ends = append(ends, each.ended.Sub(after))
		}
	}
	if len(ends) == 0 {
		return 0
	}
	return slices.Min(ends)
}

// lasted notes that something was broken from then to now.
func (o *oracle) lasted(from time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.errs = append(o.errs, window{from, time.Now()})
}

// unexplained returns how many calls have failed at a time at which nothing was broken.
func (o *oracle) unexplained() (count int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, each := range o.records {
		overlaps := func(err window) bool { return each.began.Before(err.to) && each.ended.After(err.from) }
		if each.err != nil && !slices.ContainsFunc(o.errs, overlaps) {
			count++
		}
	}
	return count
}

// until waits for a condition that time alone cannot fail.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	timeout := time.After(testTimeout)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !met() {
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("waited %s in vain for this: %s", testTimeout, what)
		}
	}
}

// pass lets time pass in which a fault lasts.
func pass(d time.Duration) { <-time.After(d) }
