//go:build unix

package faulttest_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// TestPausedInstance stops a process for a while, so that it does not even read what the broker sends, until the broker
// ends its connection: calls to the other instance are not affected. What had come as far as the paused process runs
// when it continues, like what a network has held up: see TestStall.
func TestPausedInstance(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{MaxPending: 1 << 20})
	budget := pick(200*time.Millisecond, 500*time.Millisecond)
	other, paused := s.instance(t, 0), s.remoteInstance(t, s.brokers.url(0))
	stop := load{oracle: s.oracle, from: []*bus.Conn{s.caller(t, 0)}, address: doAddress, callers: 16,
		task: task{Filling: strings.Repeat("-", 64<<10)}, budget: budget}.start()
	rounds := pick(1, 5)
	for range rounds {
		s.oracle.await(t, 200)
		paused.signal(t, syscall.SIGSTOP)
		pass(pick(time.Second, 10*time.Second))
		paused.signal(t, syscall.SIGCONT)
	}
	s.oracle.await(t, 200)
	s.answers(t, s.caller(t, 0), paused.id)
	stop()
	paused.close(t)
	closeConn(t, other)
	v := s.oracle.check(t)
	late := v.late
	v.late = 0
	v.hold(t)
	figures.addRow(t, "process of 1 of 2 instances paused (SIGSTOP), calls of "+budget.String(), "not promised",
		"%d times; %d ran after their caller had left, %d of them later than a budget; %s", rounds, v.after, late, v)
}

func (c *child) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	require.NoError(t, c.command.Process.Signal(signal))
}
