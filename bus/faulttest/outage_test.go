package faulttest_test

import (
	"context"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// TestBroker_Restart takes the only broker away while it carries calls, and brings it back.
func TestBroker_Restart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		rounds int
		away   time.Duration
		down   func(t *testing.T, s *site)
	}{
		{"killed", pick(2, 20), pick(50*time.Millisecond, 200*time.Millisecond),
			func(_ *testing.T, s *site) { s.brokers.kill(0) }},
		{"stopped", pick(1, 20), pick(50*time.Millisecond, 200*time.Millisecond),
			func(t *testing.T, s *site) { s.brokers.stop(t, 0) }},
		{"killed", 1, pick(300*time.Millisecond, 10*time.Second), func(_ *testing.T, s *site) { s.brokers.kill(0) }},
		{"killed", 1, pick(time.Second, 150*time.Second), func(_ *testing.T, s *site) { s.brokers.kill(0) }},
	} {
		t.Run(test.name+" for "+test.away.String(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1, brokerConfig{})
			instances := []*bus.Conn{s.instance(t, 0), s.instance(t, 0)}
			from := []*bus.Conn{s.caller(t, 0), s.caller(t, 0)}
			stop := load{oracle: s.oracle, from: from, address: doAddress, callers: 16, budget: callBudget(5 * time.Second),
				pause: 2 * time.Millisecond}.start()
			var seen outages
			for range test.rounds {
				s.oracle.await(t, 100)
				seen.add(t, s, from, test.away, test.down)
			}
			s.allAreBack(t, instances)
			stop()
			for _, each := range instances {
				closeConn(t, each)
			}
			v := s.oracle.check(t)
			v.hold(t)
			figures.addRow(t, "broker "+test.name+" under 16 callers, back after "+test.away.String(),
				"first success ≤ 250 ms; ok but not run 0, twice 0, class untrue 0, late 0",
				"%d times; first success: %s; calls in flight end: %s; calls made meanwhile fail after: %s; %s",
				test.rounds, spread(seen.back), spread(seen.inFlight), spread(seen.refused), v)
		})
	}
}

// outages are what several of them have shown.
type outages struct{ back, inFlight, refused []time.Duration }

// add makes an outage. Further callers come while it lasts: the others may still wait for what was in flight.
func (o *outages) add(t *testing.T, s *site, from []*bus.Conn, away time.Duration, down func(*testing.T, *site)) {
	t.Helper()
	before := time.Now()
	down(t, s)
	gone := time.Now()
	stop := load{oracle: s.oracle, from: from, address: doAddress, callers: 4, budget: callBudget(5 * time.Second),
		pause: 2 * time.Millisecond}.start()
	pass(away)
	s.brokers.start(t, 0)
	back := time.Now()
	until(t, "a call succeeds", func() bool { return s.oracle.firstSuccess(back) > 0 })
	o.back = append(o.back, s.oracle.firstSuccess(back))
	stop()
	for _, each := range s.oracle.between(before.Add(-5*time.Second), back) {
		switch {
		case each.err == nil, each.ended.Before(before): // the latter of an outage before
		case each.began.Before(gone):
			o.inFlight = append(o.inFlight, each.ended.Sub(gone))
		default:
			o.refused = append(o.refused, each.ended.Sub(each.began))
		}
	}
}

// allAreBack calls each instance by its ID until it answers.
func (s *site) allAreBack(t *testing.T, instances []*bus.Conn) {
	t.Helper()
	from := s.caller(t, 0)
	for _, each := range instances {
		s.answers(t, from, each.ID())
	}
}

// answers calls an instance until it answers. What comes of these calls says nothing of the fault: the oracle does not
// learn of them.
func (s *site) answers(t *testing.T, from *bus.Conn, id string) {
	t.Helper()
	until(t, id+" answers", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return from.Call(ctx, "https://"+id+"."+host+"/do", task{}, nil) == nil
	})
}
