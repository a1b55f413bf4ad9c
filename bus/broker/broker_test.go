package broker_test

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
	taken := broker.BoundTo(start(t, broker.Listen(":0"))).String()
	_, err := broker.Start(broker.Listen(taken))
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("error = %v, want one that wraps %v", err, syscall.EADDRINUSE)
	}
	want := "broker: listen tcp " + taken + ": bind: address already in use; " +
		"give Listen another address, port 0 takes any free port"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v\nwant    %s", err, want)
	}
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
	if _, err := bucket(t, first).PutString(t.Context(), "answer", "42"); err != nil {
		t.Fatal(err)
	}
	first.Close()

	second := start(t, broker.JetStream(directory))
	entry, err := bucket(t, second).Get(t.Context(), "answer")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(entry.Value()); got != "42" {
		t.Errorf("found %q after a restart, want 42", got)
	}
	if !second.JetStreamEnabled() || start(t).JetStreamEnabled() {
		t.Error("JetStream is not enabled exactly for a broker with a directory")
	}
}

// TestJetStream_FullDisk holds that JetStream is restarted with the data on its disk once the disk has space. The restart is over when
// the stream in memory is gone.
func TestJetStream_FullDisk(t *testing.T) {
	t.Parallel()
	embedded := start(t, broker.JetStream(t.TempDir()))
	kept := bucket(t, embedded)
	if _, err := kept.PutString(t.Context(), "answer", "42"); err != nil {
		t.Fatal(err)
	}
	manager, err := jetstream.New(connect(t, "", nats.InProcessServer(embedded)))
	if err != nil {
		t.Fatal(err)
	}
	inMemory := jetstream.StreamConfig{Name: "memory", Subjects: []string{"memory"}, Storage: jetstream.MemoryStorage}
	if _, err := manager.CreateStream(t.Context(), inMemory); err != nil {
		t.Fatal(err)
	}
	broker.FillDisk(embedded)
	for broker.Streams(embedded) != 1 { // polls without requests, which race with the start of JetStream in nats-server
		runtime.Gosched()
	}
	entry, err := kept.Get(t.Context(), "answer")
	if err != nil || string(entry.Value()) != "42" {
		t.Errorf("after the restart of JetStream: %v", err)
	}
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
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	_, err = embedded.InProcessConn()
	if want := "broker: closed: failed to create connection"; err == nil || err.Error() != want {
		t.Errorf("InProcessConn on a closed broker: %v, want %s", err, want)
	}
}
