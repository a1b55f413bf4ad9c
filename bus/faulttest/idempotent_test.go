package faulttest_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/interceptors"
)

// TestIdempotent_Kills kills instances while callers repeat each call with its key until they know what became of it.
func TestIdempotent_Kills(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{StoreDir: t.TempDir()})
	s.idempotent = true
	running := []*remote{s.remoteInstance(t, s.brokers.url(0)), s.remoteInstance(t, s.brokers.url(0))}
	r := &repeating{oracle: s.oracle, from: s.caller(t, 0), results: make(map[uint64]bool)}
	ctx, stop := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	for range 16 {
		calling.Go(func() {
			for ctx.Err() == nil {
				r.callUntilKnown(t)
			}
		})
	}
	kills := pick(5, 1000)
	for kill := range kills {
		r.await(t, pick(200, 1000))
		victim := kill % len(running)
		running[victim].kill()
		running[victim] = s.remoteInstance(t, s.brokers.url(0))
	}
	stop()
	calling.Wait()
	ran, twice, lost := s.oracle.ran(t), 0, 0
	for id, answered := range r.results {
		twice += max(0, len(ran[id])-1)
		if answered && len(ran[id]) == 0 {
			lost++
		}
	}
	assert.Zero(t, twice, "run twice")
	assert.Zero(t, lost, "answered, and not run")
	figures.addRow(t, "kill -9 of 1 of 2 instances, calls repeated with a key", "0 run twice, each call ends known",
		"%d times; %d calls, %d attempts more; %d run twice; %d begun and not ended with their instance", kills,
		len(r.results), r.attempts.Load()-int64(len(r.results)), twice, r.unknown.Load())
}

// repeating is callers that repeat a call until they know what became of it.
type repeating struct {
	oracle            *oracle
	from              *bus.Conn
	attempts, unknown atomic.Int64

	mu      sync.Mutex // protects all below
	results map[uint64]bool
}

// callUntilKnown makes a call until it is answered, or is known to have begun at an instance that was lost.
func (r *repeating) callUntilKnown(t *testing.T) {
	id := r.oracle.numbers.Add(1)
	ctx := interceptors.WithIdempotencyKey(context.Background(), "")
	for begun := time.Now(); ; {
		r.attempts.Add(1)
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		var answer struct{ Did uint64 }
		err := r.from.Call(attempt, "POST "+doAddress, task{ID: id, Spin: 50}, &answer)
		cancel()
		isKnown := err == nil || bus.StatusOf(err) == http.StatusConflict
		switch {
		case isKnown:
			r.note(id, err == nil)
			assert.True(t, err != nil || answer.Did == id, "the answer of another call")
			return
		case time.Since(begun) > testTimeout:
			assert.NoError(t, err, "it is not known")
			return
		}
	}
}

func (r *repeating) note(id uint64, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[id] = answered
	if !answered {
		r.unknown.Add(1)
	}
}

// await waits until so many further calls are known.
func (r *repeating) await(t *testing.T, more int) {
	t.Helper()
	known := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.results)
	}
	before := known()
	until(t, "calls are known", func() bool { return known() >= before+more })
}
