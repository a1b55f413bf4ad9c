package faulttest_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// TestCluster_OneOfThreeBrokers takes a broker out of a cluster under load, with a third of all callers and instances
// on it.
func TestCluster_OneOfThreeBrokers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		away func(t *testing.T, b *brokers, i int)
	}{
		{"killed", func(_ *testing.T, b *brokers, i int) { b.kill(i) }},
		{"stopped", func(t *testing.T, b *brokers, i int) { b.stop(t, i) }},
		{"lame duck", func(t *testing.T, b *brokers, i int) { b.lameDuck(t, i) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const callers = 24
			s := newSite(t, 3, brokerConfig{})
			var from, serving []*bus.Conn
			for i := range 3 {
				from, serving = append(from, s.caller(t, i)), append(serving, s.instance(t, i))
			}
			stop := load{oracle: s.oracle, from: from, address: doAddress, callers: callers, budget: callBudget(5 * time.Second),
				pause: 20 * time.Millisecond}.start()
			rounds := pick(1, 9)
			for round := range rounds {
				s.oracle.await(t, 500)
				test.away(t, s.brokers, round%3)
				s.oracle.await(t, 500)
				s.brokers.start(t, round%3)
				s.brokers.running[round%3].expect(t, "routed")
			}
			s.allAreBack(t, serving)
			stop()
			for _, each := range serving {
				closeConn(t, each)
			}
			v := s.oracle.check(t)
			v.hold(t)
			if v.unknown() > callers*rounds {
				t.Errorf("%s: more are unknown than were in flight, %d each time\n%q", v, callers, s.oracle.firstErrors())
			}
			figures.addRow(t, "1 of 3 brokers "+test.name+" under 24 callers", "errors ≤ calls in flight",
				"%d times, %d errors for each; %s; %s", rounds, v.errors()/rounds, v, s.oracle.failedAfter())
		})
	}
}

// failedAfter reports how long failed calls took.
func (o *oracle) failedAfter() string {
	var took []time.Duration
	for _, each := range o.between(time.Time{}, time.Now()) {
		if each.err != nil {
			took = append(took, each.ended.Sub(each.began))
		}
	}
	return "failed calls took: " + spread(took)
}

// TestThunderingReconnect has very many connections lose the broker at once.
func TestThunderingReconnect(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{})
	rounds, count := pick(1, 5), pick(20, 200)
	serving := make([]*bus.Conn, count)
	for i := range serving {
		serving[i] = s.instance(t, 0)
	}
	subscriptions := serving[0].NATS().NumSubscriptions()
	var took []time.Duration
	for range rounds {
		s.brokers.kill(0)
		for _, each := range serving {
			until(t, "the loss is noticed", func() bool { return !each.Connected() })
		}
		s.brokers.start(t, 0)
		back := time.Now()
		for _, each := range serving {
			until(t, "a connection is back", each.Connected)
		}
		took = append(took, time.Since(back))
		s.allAreBack(t, serving)
	}
	for _, each := range serving {
		closeConn(t, each)
	}
	figures.addRow(t, "broker restart with many connections", "all are back ≤ 1 s",
		"%d connections with %d subscriptions each, %d times; the last is back after: %s", count, subscriptions, rounds,
		spread(took))
}

// TestSplit takes the route between two brokers away, under load, and brings it back: each side serves its own.
func TestSplit(t *testing.T) {
	t.Parallel()
	s := siteOf(&brokers{configs: make([]brokerConfig, 2), running: make([]*child, 2)})
	for i := range 2 {
		s.brokers.configs[i] = brokerConfig{Port: freePort(t), ClusterPort: freePort(t)}
	}
	route := startProxy(t, "127.0.0.1:"+strconv.Itoa(s.brokers.configs[0].ClusterPort))
	s.brokers.configs[0].Remotes = 1
	s.brokers.configs[1].Remotes, s.brokers.configs[1].Peers = 1, []int{route.port()}
	for i := range 2 {
		s.brokers.start(t, i)
	}
	for _, each := range s.brokers.running {
		each.expect(t, "routed")
	}
	from, serving := []*bus.Conn{s.caller(t, 0), s.caller(t, 1)}, []*bus.Conn{s.instance(t, 0), s.instance(t, 1)}
	stop := load{oracle: s.oracle, from: from, address: doAddress, callers: 16, budget: callBudget(5 * time.Second),
		pause: 20 * time.Millisecond}.start()
	rounds := pick(1, 10)
	var healed []time.Duration
	for range rounds {
		s.oracle.await(t, 200)
		cut := time.Now()
		route.sever(true)
		s.oracle.await(t, 200)
		route.sever(false)
		began := time.Now()
		s.answers(t, from[0], serving[1].ID())
		healed = append(healed, time.Since(began))
		s.oracle.lasted(cut)
	}
	stop()
	for _, each := range serving {
		closeConn(t, each)
	}
	v := s.oracle.check(t)
	v.hold(t)
	if others := s.oracle.unexplained(); others > 0 {
		t.Errorf("%s: %d have failed while nothing was broken\n%q", v, others, s.oracle.firstErrors())
	}
	figures.addRow(t, "route between 2 brokers cut under 16 callers", "each side serves its own; heals ≤ 2 s",
		"%d times; healed after: %s; %s", rounds, spread(healed), v)
}
