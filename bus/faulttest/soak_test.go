package faulttest_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// TestSoak breaks one thing after the other, at random, while callers go on.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, brokerConfig{})
	link := startProxy(t, s.brokers.address(0))
	from := []*bus.Conn{s.caller(t, 0), s.caller(t, 1), s.caller(t, 2)}
	stable := []*bus.Conn{s.instance(t, 0), s.instance(t, 1), s.instance(t, 2), s.serve(t, s.connect(t, host, link.url()))}
	victim := s.remoteInstance(t, s.brokers.url(1))
	stop := load{oracle: s.oracle, from: from, address: doAddress, callers: 12, budget: callBudget(2 * time.Second),
		pause: 20 * time.Millisecond}.start()
	stopRelays := load{oracle: s.oracle, from: from, address: relayAddress, callers: 4,
		budget: callBudget(2 * time.Second), pause: 20 * time.Millisecond}.start()
	errs := []func(){
		link.cut,
		func() {
			link.hold(true, true)
			pass(100 * time.Millisecond)
			link.heal()
		},
		func() {
			victim.kill()
			victim = s.remoteInstance(t, s.brokers.url(rand.IntN(3)))
		},
		func() {
			victim.close(t)
			victim = s.remoteInstance(t, s.brokers.url(rand.IntN(3)))
		},
		func() {
			i := rand.IntN(3)
			s.brokers.kill(i)
			pass(200 * time.Millisecond)
			s.brokers.start(t, i)
			s.brokers.running[i].expect(t, "routed")
		},
		func() {
			closeConn(t, stable[0])
			stable = append(stable[1:3:3], s.instance(t, rand.IntN(3)), stable[3])
		},
	}
	length := soakLength(t)
	began := time.Now()
	done := 0
	for done < len(errs) || time.Since(began) < length {
		s.oracle.await(t, pick[int64](50, 2000))
		errs[done%len(errs)]()
		done++
	}
	s.allAreBack(t, stable)
	stop()
	stopRelays()
	victim.close(t)
	for _, each := range stable {
		closeConn(t, each)
	}
	v := s.oracle.check(t)
	v.hold(t)
	figures.addRow(t, "3 brokers, 5 instances, 16 callers, one fault after the other",
		"ok but not run 0, twice 0, class untrue 0, late 0",
		"%d faults in %s: %s", done, brief(time.Since(began)), v)
}

// soakLength is three minutes in the long form, or what BUSLINE_SOAK says, "30m".
func soakLength(t *testing.T) time.Duration {
	t.Helper()
	asked := os.Getenv("BUSLINE_SOAK")
	if asked == "" {
		return pick(0, 3*time.Minute)
	}
	length, err := time.ParseDuration(asked)
	if err != nil {
		t.Fatalf("BUSLINE_SOAK: %v", err)
	}
	return length
}
