package faulttest_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
)

// TestKilledInstance kills a process while it handles calls.
func TestKilledInstance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		brokers int
	}{{"1 broker", 1}, {"3 brokers", 3}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, test.brokers, brokerConfig{})
			var took []time.Duration
			rounds := pick(1, 10)
			for range rounds {
				took = append(took, s.killWithCalls(t, 50)...)
			}
			next := s.instance(t, 2)
			if err := s.oracle.call(t.Context(), s.caller(t, 1), doAddress, task{}, 20*time.Second); err != nil {
				t.Errorf("the next instance is not found: %v", err)
			}
			closeConn(t, next)
			v := s.oracle.check(t)
			v.hold(t)
			assert.Equal(t, 50*rounds, v.ambiguous, s.oracle.firstErrors())
			assert.Equal(t, 50*rounds, v.errors(), s.oracle.firstErrors())
			figures.addRow(t, "kill -9 with 50 calls in flight, "+test.name, "each ends ≤ 1.5 s, rightly classed",
				"%d times; calls end after the kill: %s; %s", rounds, spread(took), v)
		})
	}
}

// killWithCalls kills an instance that handles so many calls, and returns how long each took to end from then.
func (s *site) killWithCalls(t *testing.T, calls int) (took []time.Duration) {
	t.Helper()
	victim, from := s.remoteInstance(t, s.brokers.url(0)), s.caller(t, 1)
	var calling sync.WaitGroup
	before := s.begun(t)
	for range calls {
		calling.Go(func() {
			err := s.oracle.call(t.Context(), from, doAddress, task{Hold: 60_000}, 60*time.Second)
			if !errors.Is(err, bus.ErrInstanceLost) {
				t.Errorf("a call whose instance was killed: %v", err)
			}
		})
	}
	until(t, "all handlers run", func() bool { return s.begun(t) == before+calls })
	// A handler may begin before its ack has left the process, but this response leaves after all of them.
	assert.NoError(t, s.oracle.call(t.Context(), from, doAddress, task{}, 20*time.Second))
	killed := time.Now()
	victim.kill()
	calling.Wait()
	for _, each := range s.oracle.between(time.Time{}, killed) {
		if each.ended.After(killed) {
			took = append(took, each.ended.Sub(killed))
		}
	}
	return took
}

// begun returns how many handlers have begun.
func (s *site) begun(t *testing.T) int {
	t.Helper()
	s.oracle.mu.Lock()
	defer s.oracle.mu.Unlock()
	return len(s.oracle.executionsLocked(t))
}

// TestKilled_UnderLoad kills one of three instances while callers go on: what was not in its hands is not affected.
func TestKilled_UnderLoad(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{})
	const callers = 16
	others := []*bus.Conn{s.instance(t, 0), s.instance(t, 0)}
	stop := load{oracle: s.oracle, from: []*bus.Conn{s.caller(t, 0)}, address: doAddress, callers: callers,
		task: task{Spin: 50}, budget: callBudget(5 * time.Second)}.start()
	rounds := pick(2, 20)
	for range rounds {
		victim := s.remoteInstance(t, s.brokers.url(0))
		s.oracle.await(t, 300)
		victim.kill()
		s.oracle.await(t, 300)
	}
	stop()
	for _, each := range others {
		closeConn(t, each)
	}
	v := s.oracle.check(t)
	v.hold(t)
	if v.errors() > callers*rounds {
		t.Errorf("%s, want no more errors than calls in flight, %d each time\n%q", v, callers, s.oracle.firstErrors())
	}
	figures.addRow(t, "kill -9 of 1 of 3 instances under 16 callers", "errors ≤ calls in flight",
		"%d times; %s", rounds, v)
}
