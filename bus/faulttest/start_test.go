package faulttest_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// TestStartOrder starts what is called last: first the caller, then the broker, then the service.
func TestStartOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{})
	s.brokers.kill(0)
	connected := make(chan *bus.Conn)
	go func() {
		defer close(connected)
		conn, err := bus.Connect(context.Background(), "caller.example",
			append(s.options(s.brokers.url(0)), bus.WithConnectTimeout(testTimeout))...)
		if err != nil {
			t.Error(err)
			return
		}
		connected <- conn
	}()
	pass(pick(100*time.Millisecond, 3*time.Second))
	s.brokers.start(t, 0)
	caller := <-connected
	if caller == nil {
		return
	}
	defer closeConn(t, caller)
	if err := s.oracle.call(t.Context(), caller, doAddress, task{},
		20*time.Second); bus.StatusOf(err) != http.StatusServiceUnavailable {
		t.Errorf("before the service is there: %v", err)
	}
	serving := s.instance(t, 0)
	if err := s.oracle.call(t.Context(), caller, doAddress, task{}, 20*time.Second); err != nil {
		t.Errorf("once it is there: %v", err)
	}
	closeConn(t, serving)
	v := s.oracle.check(t)
	v.hold(t)
	figures.addRow(t, "caller started before the broker, broker before the service", "waits; no crash", "%s", v)
}

// TestLive_WhenServed calls a host that was never there as soon as it says that it serves, by way of another broker,
// which may not know of it yet.
func TestLive_WhenServed(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, brokerConfig{})
	caller := s.caller(t, 0)
	rounds, early := pick(10, 500), 0
	var took []time.Duration
	for round := range rounds {
		name := fmt.Sprintf("w%d.example", round)
		serving := s.serve(t, s.connect(t, name, s.brokers.url(1+round%2)))
		began := time.Now()
		err := s.oracle.call(t.Context(), caller, "https://"+name+"/do", task{}, 20*time.Second)
		took = append(took, time.Since(began))
		if err != nil {
			early++
		}
		closeConn(t, serving)
	}
	v := s.oracle.check(t)
	v.hold(t)
	figures.addRow(t, "first call right after Serve, by way of another of 3 brokers", "0 errors",
		"%d hosts, %d errors; %s; %s", rounds, early, spread(took), v)
}

// TestStart_ManyAtOnce has one instance with very many endpoints, and very many that start together.
func TestStart_ManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{})
	endpoints, instances := pick(100, 1000), pick(10, 100)
	wide := s.connect(t, "wide.example", s.brokers.url(0))
	began := time.Now()
	for i := range endpoints {
		require.NoError(t, wide.Handle("GET", fmt.Sprintf("/endpoint-%d", i),
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	}
	registered := time.Since(began)
	began = time.Now()
	var starting sync.WaitGroup
	for range instances {
		starting.Go(func() {
			conn, err := bus.Connect(t.Context(), host, s.options(s.brokers.url(0))...)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { closeConn(t, conn) })
			assert.NoError(t, serveWorker(conn, &s.oracle.memory, s.release))
		})
	}
	starting.Wait()
	started := time.Since(began)
	caller := s.caller(t, 0)
	var took []time.Duration
	for i := range endpoints {
		began := time.Now()
		if err := caller.Call(t.Context(), fmt.Sprintf("GET https://wide.example/endpoint-%d", i), nil, nil); err != nil {
			t.Errorf("endpoint %d: %v", i, err)
		}
		took = append(took, time.Since(began))
	}
	figures.addRow(t, "start-up", "≤ 1 s each",
		"%d endpoints in %s; %d instances together in %s; then a call to each endpoint: %s",
		endpoints, brief(registered), instances, brief(started), spread(took))
}
