package faulttest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// TestClosed_ByTheBroker has the broker close a connection as it does when it is sent a line that is too long: its
// client library takes that as final.
func TestClosed_ByTheBroker(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"caller", "instance"} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1, brokerConfig{})
			caller := s.caller(t, 0)
			serving := []*bus.Conn{s.instance(t, 0), s.instance(t, 0)}
			victim := map[string]*bus.Conn{"caller": caller, "instance": serving[0]}[side]
			stop := load{oracle: s.oracle, from: []*bus.Conn{caller}, address: doAddress, callers: 16,
				budget: callBudget(2 * time.Second), pause: 20 * time.Millisecond}.start()
			rounds := pick(2, 20)
			var took []time.Duration
			for range rounds {
				s.oracle.await(t, 200)
				began, doomed := time.Now(), victim.NATS()
				require.NoError(t, doomed.Publish(strings.Repeat("a", 5000), nil))
				until(t, "the connection is closed", doomed.IsClosed)
				until(t, "it is made anew", victim.Connected)
				s.allAreBack(t, serving)
				took = append(took, time.Since(began))
				s.oracle.lasted(began)
			}
			s.oracle.await(t, 200)
			stop()
			for _, each := range serving {
				closeConn(t, each)
			}
			v := s.oracle.check(t)
			v.hold(t)
			if others := s.oracle.unexplained(); others > 0 {
				t.Errorf("%s: %d have failed while nothing was broken\n%q", v, others, s.oracle.firstErrors())
			}
			figures.addRow(t, "connection of the "+side+" closed by the broker for a line of 5000 bytes",
				"made anew; process never closed for good",
				"%d times; all back after: %s; %s", rounds, spread(took), v)
		})
	}
}
