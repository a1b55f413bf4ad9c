package faulttest_test

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
)

// TestSlowHandlers calls handlers that do not heed their contexts and end only when their callers have left. It runs
// alone, because it counts the goroutines of the process.
func TestSlowHandlers(t *testing.T) {
	for _, test := range []struct {
		name    string
		circuit bool
	}{{"over the broker", false}, {"short circuit", true}} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t, 1, brokerConfig{})
			s.circuit = test.circuit
			serving, caller := s.instance(t, 0), s.caller(t, 0)
			calls, budget := pick(100, 1000), pick(300*time.Millisecond, time.Second)
			base := runtime.NumGoroutine()
			var calling sync.WaitGroup
			for range calls {
				calling.Go(func() {
					err := s.oracle.call(context.Background(), caller, doAddress, task{Deaf: true}, budget)
					assert.Equal(t, http.StatusGatewayTimeout, bus.StatusOf(err))
					assert.ErrorIs(t, err, bus.ErrTimeout)
				})
			}
			calling.Wait()
			s.letGo()
			var beyond []time.Duration
			for _, each := range s.oracle.between(time.Time{}, time.Now()) {
				beyond = append(beyond, each.ended.Sub(each.began)-budget)
			}
			until(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= base })
			if err := s.oracle.call(t.Context(), caller, doAddress, task{}, 20*time.Second); err != nil {
				t.Errorf("the next call: %v", err)
			}
			closeConn(t, serving)
			v := s.oracle.check(t)
			v.hold(t)
			// a request that takes longer than the budget to arrive, as it may on a busy machine, does not run
			assert.Equal(t, calls, v.ambiguous+v.refused)
			assert.NotZero(t, v.ambiguous)
			figures.addRow(t, "handlers slower than the budget, "+test.name, "504 at the budget + ≤ 50 ms",
				"%d calls; they end after the budget: %s", calls, spread(beyond))
		})
	}
}

// TestOverload calls an instance that may run few handlers by many callers: what it cannot take it refuses at once.
func TestOverload(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		circuit bool
	}{{"over the broker", false}, {"short circuit", true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1, brokerConfig{})
			s.circuit = test.circuit
			serving := s.serve(t, s.connect(t, host, s.brokers.url(0), bus.WithMaxHandlers(10)))
			stop := load{oracle: s.oracle, from: []*bus.Conn{s.caller(t, 0)}, address: doAddress, callers: pick(100, 500),
				task: task{Hold: 5}, budget: 20 * time.Second, pause: time.Millisecond}.start()
			s.oracle.await(t, pick[int64](200, 5000))
			stop()
			closeConn(t, serving)
			v := s.oracle.check(t)
			v.hold(t)
			assert.Zero(t, v.unknown()+v.failed, s.oracle.firstErrors())
			assert.NotZero(t, v.refused, s.oracle.firstErrors())
			figures.addRow(t, "10 handlers at most, many callers, "+test.name, "503 for what is too much, nothing lost",
				"%s; %s", v, s.oracle.failedAfter())
		})
	}
}
