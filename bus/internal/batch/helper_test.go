package batch_test

import (
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/busline/busline/bus/internal/batch"
)

func noTime() time.Time { return time.Time{} }

func write(t *testing.T, to net.Conn, data []byte) {
	t.Helper()
	if n, err := to.Write(data); n != len(data) || err != nil {
		t.Errorf("wrote %d of %d bytes: %v", n, len(data), err)
	}
}

// overTCP returns both ends of a connection, the first of which collects writes.
func overTCP(t *testing.T) (ours *batch.Conn, theirs net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dialer := &batch.Dialer{Timeout: time.Minute}
	dialled, err := dialer.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dialled.Close() })
	if theirs, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return dialled.(*batch.Conn), theirs
}

// awaitIdle returns when everything is sent.
func awaitIdle(c *batch.Conn) {
	for batch.Sending(c) {
		runtime.Gosched()
	}
}

// stub is a connection that reports each write, and blocks it until the test sends to free or fails.
type stub struct {
	net.Conn
	peer   net.Conn
	writes chan string
	free   chan struct{}
	fails  chan error
}

func newStub() *stub {
	conn, peer := net.Pipe()
	return &stub{conn, peer, make(chan string, 8), make(chan struct{}), make(chan error, 1)}
}

func (s *stub) Write(data []byte) (int, error) {
	s.writes <- string(data)
	select {
	case <-s.free:
		return len(data), nil
	case err := <-s.fails:
		return 0, err
	}
}

// wantWrite checks the next write.
func wantWrite(t *testing.T, s *stub, want string) {
	t.Helper()
	if got := <-s.writes; got != want {
		t.Errorf("%d bytes were written, want %d", len(got), len(want))
	}
}
