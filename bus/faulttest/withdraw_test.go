package faulttest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
)

// TestWithdraw_UnderLoad withdraws the service of one of two instances and serves it again, in turn, while they are
// called. Some of the calls are made by its handlers.
func TestWithdraw_UnderLoad(t *testing.T) {
	t.Parallel()
	for name, circuit := range map[string]bool{"broker": false, "short circuit": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1, brokerConfig{})
			s.circuit = circuit
			conns := []*bus.Conn{s.instance(t, 0), s.instance(t, 0)}
			callers := []*bus.Conn{s.caller(t, 0), s.caller(t, 0)}
			stopCalls := load{oracle: s.oracle, from: callers, address: doAddress, callers: 8, budget: 20 * time.Second}.start()
			stopRelays := load{oracle: s.oracle, from: callers, address: relayAddress, callers: 2,
				budget: 20 * time.Second}.start()
			for round := range 50 {
				s.oracle.await(t, 10)
				conn := conns[round%2]
				ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
				assert.NoError(t, conn.Withdraw(ctx, worker{conn, &s.oracle.memory, s.release}))
				cancel()
				s.serve(t, conn)
			}
			s.oracle.await(t, 50)
			stopCalls()
			stopRelays()
			for _, each := range conns {
				closeConn(t, each)
			}
			v := s.oracle.check(t)
			v.hold(t)
			if v.errors() != 0 {
				t.Errorf("%s\n%q", v, s.oracle.firstErrors())
			}
			figures.addRow(t, "50 times withdrawn and served again, 1 of 2 under 10 callers, "+name, "0 lost",
				"%d calls, %d lost", v.calls, v.errors())
		})
	}
}
