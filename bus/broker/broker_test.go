package broker_test

import (
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/broker"
)

func TestBroker_InProcessConn(t *testing.T) {
	t.Parallel()
	embedded := start(t)
	if url := embedded.URL(); url != "" {
		t.Errorf("URL = %q, want none without Listen", url)
	}
	exchange(t,
		connect(t, "", nats.InProcessServer(embedded)),
		connect(t, "", nats.InProcessServer(embedded)))
}

// TestListen holds that a broker is bound to the loopback interface unless the
// address names another host, and that the URL can always be dialed.
func TestListen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		address  string
		loopback bool
	}{
		{"127.0.0.1:0", true},
		{"localhost:0", true},
		{":0", true},
		{"0.0.0.0:0", false},
	}
	for _, test := range tests {
		t.Run(test.address, func(t *testing.T) {
			t.Parallel()
			embedded := start(t, broker.Listen(test.address))
			bound := broker.BoundTo(embedded).(*net.TCPAddr)
			if bound.IP.IsLoopback() != test.loopback {
				t.Errorf("Listen(%q) is bound to %s", test.address, bound)
			}
			if !strings.HasPrefix(embedded.URL(), "nats://127.0.0.1:") {
				t.Errorf("URL = %q, want nats://127.0.0.1 and the port", embedded.URL())
			}
			exchange(t,
				connect(t, embedded.URL()),
				connect(t, "", nats.InProcessServer(embedded)))
		})
	}
}

func TestListen_PortInUse(t *testing.T) {
	t.Parallel()
	addr := broker.BoundTo(start(t, broker.Listen(":0"))).String()
	_, err := broker.Start(broker.Listen(addr))
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("error = %v, want one that wraps %v", err, syscall.EADDRINUSE)
	}
	want := "broker: listen tcp " + addr + ": bind: address already in use; " +
		"give Listen another address, port 0 takes any free port"
	assert.EqualError(t, err, want)
}

func TestMaxPayload(t *testing.T) {
	t.Parallel()
	usual := connect(t, "", nats.InProcessServer(start(t)))
	if got := usual.MaxPayload(); got != broker.DefaultMaxPayload {
		t.Errorf("MaxPayload = %d by default, want %d", got, broker.DefaultMaxPayload)
	}
	small := connect(t, "", nats.InProcessServer(start(t, broker.MaxPayload(4096))))
	if got := small.MaxPayload(); got != 4096 {
		t.Errorf("MaxPayload = %d, want 4096", got)
	}
}

// TestJetStream holds that Start creates a missing directory, and that the next
// broker on the same directory finds the stored data.
func TestJetStream(t *testing.T) {
	t.Parallel()
	directory := t.TempDir() + "/missing/store"

	first := start(t, broker.JetStream(directory))
	_, err := bucket(t, first).PutString(t.Context(), "answer", "42")
	require.NoError(t, err)
	first.Close()

	second := start(t, broker.JetStream(directory))
	entry, err := bucket(t, second).Get(t.Context(), "answer")
	require.NoError(t, err)
	if got := string(entry.Value()); got != "42" {
		t.Errorf("found %q after a restart, want 42", got)
	}
	assert.True(t, second.JetStreamEnabled(), "JetStream is not enabled exactly for a broker with a directory")
	assert.False(t, start(t).JetStreamEnabled())
}

// TestJetStream_FullDisk holds that JetStream is restarted with the data on its disk once the disk has space. The
// restart is over when the stream in memory is gone.
func TestJetStream_FullDisk(t *testing.T) {
	t.Parallel()
	embedded := start(t, broker.JetStream(t.TempDir()))
	kept := bucket(t, embedded)
	_, err := kept.PutString(t.Context(), "answer", "42")
	require.NoError(t, err)
	manager, err := jetstream.New(connect(t, "", nats.InProcessServer(embedded)))
	require.NoError(t, err)
	inMemory := jetstream.StreamConfig{Name: "memory", Subjects: []string{"memory"}, Storage: jetstream.MemoryStorage}
	_, err = manager.CreateStream(t.Context(), inMemory)
	require.NoError(t, err)
	broker.FillDisk(embedded)
	for broker.Streams(embedded) != 1 { // polls without requests, which race with the start of JetStream in nats-server
		time.Sleep(time.Millisecond)
	}
	entry, err := kept.Get(t.Context(), "answer")
	require.NoError(t, err, "after the restart of JetStream")
	assert.Equal(t, "42", string(entry.Value()), "after the restart of JetStream")
}

func TestBroker_Close(t *testing.T) {
	t.Parallel()
	embedded := start(t, broker.Listen(":0"))
	address := broker.BoundTo(embedded).String()
	closed := make(chan struct{})
	connect(t, embedded.URL(), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))

	var closers sync.WaitGroup
	for range 3 {
		closers.Go(embedded.Close)
	}
	closers.Wait()
	<-closed

	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("the port is still taken when Close has returned: %v", err)
	}
	assert.NoError(t, listener.Close())
	_, err = embedded.InProcessConn()
	want := "broker: closed: failed to create connection"
	assert.EqualError(t, err, want, "InProcessConn on a closed broker")
}
