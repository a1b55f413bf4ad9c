package faulttest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// TestMessage_LimitChanges restarts the broker with another limit for messages, while requests and responses travel
// that exceed one limit or the other.
func TestMessage_LimitChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{})
	serving := s.instance(t, 0)
	from := []*bus.Conn{s.caller(t, 0)}
	large := task{Filling: strings.Repeat("-", 200<<10), Fill: 300 << 10}
	stop := load{oracle: s.oracle, from: from, address: doAddress, callers: 4, task: large,
		budget: callBudget(5 * time.Second), pause: 5 * time.Millisecond}.start()
	rounds := pick(2, 10)
	for round := range rounds {
		s.oracle.await(t, pick[int64](20, 200))
		s.brokers.kill(0)
		s.brokers.configs[0].MaxPayload = [...]int32{64 << 10, 1 << 20}[round%2]
		s.brokers.start(t, 0)
	}
	s.oracle.await(t, 20)
	stop()
	closeConn(t, serving)
	v := s.oracle.check(t)
	v.hold(t)
	figures.addRow(t, "200 KiB there and 300 KiB back, broker killed and back with a limit of 64 KiB or 1 MiB",
		"re-fragmented",
		"%d times; %s", rounds, v)
}
