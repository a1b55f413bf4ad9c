package faulttest_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// TestLinkCut cuts the link of a caller, and that of an instance, again and again.
func TestLinkCut(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"caller", "instance"} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1, brokerConfig{})
			link := startProxy(t, s.brokers.address(0))
			urls := map[string]string{"caller": s.brokers.url(0), "instance": s.brokers.url(0), side: link.url()}
			caller := s.connect(t, "caller.example", urls["caller"])
			serving := []*bus.Conn{s.instance(t, 0), s.serve(t, s.connect(t, host, urls["instance"]))}
			victim := map[string]*bus.Conn{"caller": caller, "instance": serving[1]}[side]
			stop := load{oracle: s.oracle, from: []*bus.Conn{caller}, address: doAddress, callers: 16,
				budget: callBudget(2 * time.Second), pause: 20 * time.Millisecond}.start()
			rounds := pick(3, 20)
			for range rounds {
				s.oracle.await(t, 100)
				began, before := time.Now(), victim.NATS().Stats().Reconnects
				link.cut()
				until(t, "it reconnects", func() bool { return victim.NATS().Stats().Reconnects > before && victim.Connected() })
				s.oracle.lasted(began)
			}
			s.oracle.await(t, 100)
			s.allAreBack(t, serving)
			stop()
			for _, each := range serving {
				closeConn(t, each)
			}
			v := s.oracle.check(t)
			v.hold(t)
			if others := s.oracle.unexplained(); others > 0 {
				t.Errorf("%s: %d have failed while nothing was broken\n%q", v, others, s.oracle.firstErrors())
			}
			figures.addRow(t, "link of the "+side+" cut under 16 callers", "none fails but those in flight", "%d times; %s; %s",
				rounds, v, s.oracle.failedAfter())
		})
	}
}

// TestBlackHole lets nothing through to an instance, or from it, without any connection being closed. Pings find it
// out: the shorter ones in the short form, by a connection of the application's.
func TestBlackHole(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		up, down bool
	}{{"both ways", true, true}, {"from it", true, false}, {"to it", false, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1, brokerConfig{PingInterval: pick(2*time.Second, 10*time.Second)})
			link := startProxy(t, s.brokers.address(0))
			behind := s.connect(t, host, "", pick(withPings, withoutPings)(t, link.url()))
			serving := []*bus.Conn{s.instance(t, 0), s.serve(t, behind)}
			stop := load{oracle: s.oracle, from: []*bus.Conn{s.caller(t, 0)}, address: doAddress, callers: 16,
				budget: callBudget(2 * time.Second)}.start()
			s.oracle.await(t, 200)
			began := time.Now()
			link.hold(test.up, test.down)
			until(t, "the instance notices", func() bool { return !behind.Connected() })
			noticed := time.Since(began)
			link.cut()
			link.heal()
			s.oracle.await(t, 200)
			s.allAreBack(t, serving)
			stop()
			for _, each := range serving {
				closeConn(t, each)
			}
			v := s.oracle.check(t)
			v.hold(t)
			if v.refused > 0 {
				t.Errorf("%s: calls are refused, and an instance was there\n%q", v, s.oracle.firstErrors())
			}
			figures.addRow(t, "link of 1 of 2 instances black-holed, "+test.name, "noticed ≤ 2 pings + 1 s; late 0",
				"noticed after %s; %s", brief(noticed), v)
		})
	}
}

// withPings gives a connection pings that come more often than Busline's own do.
func withPings(t *testing.T, url string) bus.ConnectOption {
	t.Helper()
	conn, err := nats.Connect(url, nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(2),
		nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectBufSize(-1))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return bus.WithNATS(conn)
}

// withoutPings leaves Busline to its own.
func withoutPings(_ *testing.T, url string) bus.ConnectOption { return bus.WithURL(url) }

// TestStall holds up the link of an instance for longer than the budget of the calls, and then lets it all through, as
// TCP does after a while without a network. The bus cannot distinguish such a call from one that was just made: a
// budget is the time that is left, not a deadline. The battery counts those that ran late, and allows them here alone.
func TestStall(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{})
	link := startProxy(t, s.brokers.address(0))
	serving := []*bus.Conn{s.instance(t, 0), s.serve(t, s.connect(t, host, link.url()))}
	const callers = 16
	budget := pick(200*time.Millisecond, 500*time.Millisecond)
	stop := load{oracle: s.oracle, from: []*bus.Conn{s.caller(t, 0)}, address: doAddress, callers: callers,
		budget: budget}.start()
	rounds := pick(1, 5)
	for range rounds {
		s.oracle.await(t, 100)
		link.hold(true, true)
		pass(4 * budget)
		link.heal()
	}
	s.oracle.await(t, 100)
	s.allAreBack(t, serving)
	stop()
	for _, each := range serving {
		closeConn(t, each)
	}
	v := s.oracle.check(t)
	late := v.late
	v.late = 0
	v.hold(t)
	figures.addRow(t, "link of 1 of 2 instances stalled for "+(4*budget).String()+", calls of "+budget.String(),
		"not promised",
		"%d times; %d ran after their caller had left, %d of them later than a budget; %s", rounds, v.after, late, v)
}

// TestLatency slows down the links of the caller and of the instance.
func TestLatency(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{pick(5*time.Millisecond, 50*time.Millisecond),
		pick(20*time.Millisecond, 200*time.Millisecond)} {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1, brokerConfig{})
			near, far := startProxy(t, s.brokers.address(0)), startProxy(t, s.brokers.address(0))
			caller := s.connect(t, "caller.example", near.url())
			serving := s.serve(t, s.connect(t, host, far.url()))
			near.slow(delay)
			far.slow(delay)
			stop := load{oracle: s.oracle, from: []*bus.Conn{caller}, address: doAddress, callers: 64,
				budget: 20 * time.Second}.start()
			s.oracle.await(t, pick[int64](500, 2000))
			stop()
			closeConn(t, serving)
			v := s.oracle.check(t)
			v.hold(t)
			if v.errors() > 0 {
				t.Errorf("%s\n%q", v, s.oracle.firstErrors())
			}
			var took []time.Duration
			for _, each := range s.oracle.between(time.Time{}, time.Now()) {
				took = append(took, each.ended.Sub(each.began))
			}
			figures.addRow(t, "latency of "+delay.String()+" and a quarter of jitter, on two links each way",
				`0 errors, 0 false "no server"`,
				"%d calls, %d errors; %s", v.calls, v.errors(), spread(took))
		})
	}
}
