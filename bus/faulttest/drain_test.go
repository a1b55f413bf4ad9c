package faulttest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
)

// TestGracefulRestarts replaces one of two instances again and again, while they are called. Some of the calls are made
// by handlers, those of instances that are closing among them.
func TestGracefulRestarts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		brokers int
		circuit bool
	}{{"1 broker", 1, false}, {"3 brokers", 3, false}, {"short circuit", 1, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, test.brokers, brokerConfig{})
			s.circuit = test.circuit
			rounds := pick(5, 100)
			older, newer := s.instance(t, 0), s.instance(t, 1)
			callers := []*bus.Conn{s.caller(t, 1), s.caller(t, 2)}
			stopCalls := load{oracle: s.oracle, from: callers, address: doAddress, callers: 12, budget: 20 * time.Second}.start()
			stopRelays := load{oracle: s.oracle, from: callers, address: relayAddress, callers: 4,
				budget: 20 * time.Second}.start()
			for round := range rounds {
				s.oracle.await(t, 50)
				closeConn(t, older)
				older, newer = newer, s.instance(t, round)
			}
			s.oracle.await(t, 50)
			stopCalls()
			stopRelays()
			closeConn(t, older)
			closeConn(t, newer)
			v := s.oracle.check(t)
			v.hold(t)
			if v.errors() != 0 {
				t.Errorf("%s\n%q", v, s.oracle.firstErrors())
			}
			figures.addRow(t, "graceful restarts of 1 of 2 under 16 callers, "+test.name, "0 lost",
				"%d restarts, %d calls, %d lost", rounds, v.calls, v.errors())
		})
	}
}

// TestDrain_SingleInstanceReplaced has no instance there between one instance and the next. In a cluster, what another
// broker has forwarded just before it noticed that the last instance left is lost without a word: such a call has not
// run, and ends without an ack.
func TestDrain_SingleInstanceReplaced(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, bar string
		brokers   int
	}{{"1 broker", "0 errors", 1}, {"3 brokers", "0 errors; see below", 3}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, test.brokers, brokerConfig{})
			gap := pick(20*time.Millisecond, 100*time.Millisecond)
			rounds := pick(3, 10)
			longest := s.replace(t, rounds, gap)
			v := s.oracle.check(t)
			v.hold(t)
			lost := v.unknown()
			if test.brokers > 1 {
				lost = v.ambiguous
			}
			// an instance may be away for half a second; a machine on which it takes longer proves nothing
			if lost != 0 || v.refused+v.failed != 0 && longest < 400*time.Millisecond {
				t.Errorf("%s\n%q", v, s.oracle.firstErrors())
			}
			figures.addRow(t, "single instance replaced with gaps of "+gap.String()+" under 16 callers, "+test.name, test.bar,
				"%d times, %d calls, %d errors, of which %d had run", rounds, v.calls, v.errors(), v.ambiguous)
		})
	}
}

// replace starts one instance after the other, and returns the longest time between two.
func (s *site) replace(t *testing.T, rounds int, gap time.Duration) (longest time.Duration) {
	t.Helper()
	serving := s.instance(t, 0)
	stop := load{oracle: s.oracle, from: []*bus.Conn{s.caller(t, 1)}, address: doAddress, callers: 16,
		budget: 20 * time.Second}.start()
	for round := range rounds {
		s.oracle.await(t, 100)
		began := time.Now()
		closeConn(t, serving)
		pass(gap)
		serving = s.instance(t, round)
		longest = max(longest, time.Since(began))
	}
	s.oracle.await(t, 100)
	stop()
	closeConn(t, serving)
	return longest
}

// TestCutOff closes an instance whose handlers take longer than it has time: their callers are not left waiting.
func TestCutOff(t *testing.T) {
	t.Parallel()
	const calls = 20
	s := newSite(t, 1, brokerConfig{})
	serving, caller := s.instance(t, 0), s.caller(t, 0)
	var calling sync.WaitGroup
	for range calls {
		calling.Go(func() {
			_ = s.oracle.call(t.Context(), caller, doAddress, task{Deaf: true}, 60*time.Second) // the oracle keeps it
		})
	}
	until(t, "all handlers run", func() bool { return s.begun(t) == calls })
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := serving.Close(ctx)
	assert.ErrorContains(t, err, "cut off 20 handlers and 0 calls:")
	closed := time.Now()
	calling.Wait()
	s.letGo()
	var ends []time.Duration
	for _, each := range s.oracle.between(time.Time{}, closed) {
		ends = append(ends, each.ended.Sub(closed))
	}
	next := s.instance(t, 0)
	if err := s.oracle.call(t.Context(), caller, doAddress, task{}, 20*time.Second); err != nil {
		t.Errorf("the next instance: %v", err)
	}
	closeConn(t, next)
	v := s.oracle.check(t)
	v.hold(t)
	if v.ambiguous != calls {
		t.Errorf("%s, want %d that are unknown and ran\n%q", v, calls, s.oracle.firstErrors())
	}
	figures.addRow(t, "closed with 0.5 s, handlers that do not end", "exit ≤ grace + 1 s; the calls end with an error",
		"Close took %s; calls end after that: %s; %s", brief(closed.Sub(began)), spread(ends), v)
}
