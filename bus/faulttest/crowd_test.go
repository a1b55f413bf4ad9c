package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// TestCrowd makes very many calls at once, whose handlers keep the processors busy for longer than an ack may take:
// none of them may get the error that no instance is there. It runs alone, as all of the machine is what it takes.
func TestCrowd(t *testing.T) {
	for _, test := range []crowd{
		{"1 broker", 1, 200, false, func() func() { return func() {} }},
		{"1 broker", 1, 0, false, func() func() { return func() {} }},
		{"3 brokers", 3, 200, false, func() func() { return func() {} }},
		{"short circuit", 1, 200, true, func() func() { return func() {} }},
		{"GOGC=10", 1, 200, false, func() func() {
			before := debug.SetGCPercent(10)
			return func() { debug.SetGCPercent(before) }
		}},
		{"GOGC=off GOMEMLIMIT=256MiB", 1, 200, false, func() func() {
			percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(256<<20)
			return func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }
		}},
		{"GOMAXPROCS=1", 1, 200, false, func() func() {
			before := runtime.GOMAXPROCS(1)
			return func() { runtime.GOMAXPROCS(before) }
		}},
	} {
		t.Run(fmt.Sprintf("%s, %d µs", test.name, test.spin), func(t *testing.T) { test.run(t) })
	}
}

// crowd is one way to make them.
type crowd struct {
	name    string
	brokers int
	spin    int // microseconds of work for a handler
	circuit bool
	set     func() (reset func()) // settings of the process
}

func (c crowd) run(t *testing.T) {
	t.Helper()
	s := newSite(t, c.brokers, brokerConfig{})
	s.circuit = c.circuit
	serving, caller := s.instance(t, 1), s.caller(t, 0)
	calls, rounds := pick(1000, 10_000), pick(1, 3)
	base := runtime.NumGoroutine()
	reset := c.set()
	for range rounds {
		var calling sync.WaitGroup
		for range calls {
			calling.Go(func() {
				_ = s.oracle.call(context.Background(), caller, doAddress, task{Spin: c.spin}, time.Minute) // the oracle keeps it
			})
		}
		calling.Wait()
	}
	reset()
	until(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= base })
	closeConn(t, serving)
	v := s.oracle.check(t)
	v.hold(t)
	if v.errors() > 0 {
		t.Errorf("%s\n%q", v, s.oracle.firstErrors())
	}
	var took []time.Duration
	falsely := 0
	for _, each := range s.oracle.between(time.Time{}, time.Now()) {
		took = append(took, each.ended.Sub(each.began))
		if errors.Is(each.err, bus.ErrNoResponder) || errors.Is(each.err, bus.ErrNoAck) {
			falsely++
		}
	}
	figures.addRow(t, fmt.Sprintf("%d calls at once, handlers of %d µs, %s", calls, c.spin, c.name), `0 false "no server"`,
		"%d times: %d ok, %d failed, %d of them as nobody there; %s", rounds, v.ok, v.errors(), falsely, spread(took))
}
