package broker_test

import (
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// startMember runs a broker of a cluster until the test ends.
func startMember(t *testing.T, name string, others ...*server.Server) *server.Server {
	t.Helper()
	options := &server.Options{
		ServerName: name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		// it closes no connection itself while the test runs
		LameDuckDuration: 2 * time.Minute, LameDuckGracePeriod: time.Minute,
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: server.RANDOM_PORT},
	}
	for _, other := range others {
		options.Routes = append(options.Routes, &url.URL{Scheme: "nats", Host: other.ClusterAddr().String()})
	}
	member, err := server.NewServer(options)
	require.NoError(t, err)
	member.Start()
	t.Cleanup(func() {
		member.Shutdown()
		member.WaitForShutdown()
	})
	require.True(t, member.ReadyForConnections(20*time.Second))
	return member
}

// tally counts how often it was called.
type tally struct{ calls atomic.Int64 }

func (c *tally) Count() (calls int64) { return c.calls.Add(1) }

// TestLameDuck has the broker of a caller and of an instance leave a cluster while calls run: both move to the other
// broker while the leaving one still serves them, no call fails, and none is executed twice.
func TestLameDuck(t *testing.T) {
	t.Parallel()
	first := startMember(t, "first")
	second := startMember(t, "second", first)
	require.Eventually(t, func() bool { return first.NumRoutes() > 0 && second.NumRoutes() > 0 }, 20*time.Second,
		time.Millisecond)
	connect := func(host string) *bus.Conn {
		conn, err := bus.Connect(t.Context(), host, bus.WithURL(first.ClientURL()), bus.WithoutSharing(), kit.Quiet())
		require.NoError(t, err)
		t.Cleanup(func() { kit.CloseConn(t, conn) })
		return conn
	}
	callee, caller := connect("counter.example"), connect("caller.example")
	counter := new(tally)
	kit.Serve(t, callee, counter)
	var made int64
	call := func(address string) {
		made++
		require.NoError(t, caller.Call(t.Context(), address, nil, nil), "call %d", made)
	}
	call("POST https://counter.example/count")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		first.LameDuckShutdown()
	}()
	moved := func(conn *bus.Conn) bool { return conn.NATS().ConnectedServerName() == "second" }
	for first.NumClients() > 0 || !moved(callee) || !moved(caller) {
		call("POST https://counter.example/count")
		call("POST https://" + callee.ID() + ".counter.example/count")
	}
	for range 100 {
		call("POST https://counter.example/count")
	}
	assert.Equal(t, made, counter.calls.Load())
	assert.EqualValues(t, 1, callee.Stats().Reconnects)
	assert.Zero(t, caller.Stats().UnmatchedResponses)
	first.Shutdown()
	<-ended
}
