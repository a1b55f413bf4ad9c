package batch_test

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/batch"
)

func noTime() time.Time { return time.Time{} }

func write(t *testing.T, to net.Conn, data []byte) {
	t.Helper()
	n, err := to.Write(data)
	if n != len(data) || err != nil { // without assertions, which allocate
		t.Errorf("%d of %d bytes written: %v", n, len(data), err)
	}
}

// overTCP returns both ends of a connection, the first of which collects writes.
func overTCP(t *testing.T) (ours *batch.Conn, theirs net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	dialer := &batch.Dialer{Timeout: time.Minute}
	dialled, err := dialer.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = dialled.Close() })
	theirs, err = listener.Accept()
	require.NoError(t, err)
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

// connect makes a connection of nats.go with this package's dialer.
func connect(t *testing.T, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	options = append([]nats.Option{
		nats.SetCustomDialer(&batch.Dialer{Timeout: time.Minute}), nats.SkipHostLookup(), nats.Timeout(time.Minute),
		nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(time.Millisecond, time.Millisecond),
		nats.MaxReconnects(-1),
	}, options...)
	conn, err := nats.Connect(url, options...)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// echoes sends messages of all sizes between both connections.
func echoes(t *testing.T, server, client *nats.Conn) {
	t.Helper()
	subscription, err := server.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) })
	require.NoError(t, err)
	defer func() { _ = subscription.Unsubscribe() }()
	require.NoError(t, server.Flush())
	for _, size := range []int{0, 1, 1000, 20_000, 100_000, 1_000_000} {
		text := strings.Repeat("x", size)
		answer, err := client.Request("echo", []byte(text), time.Minute)
		require.NoError(t, err, "%d bytes", size)
		assert.Equal(t, text, string(answer.Data), "%d bytes", size)
	}
}

// startServer runs a broker on a free port until the test ends.
func startServer(tb testing.TB, options *server.Options) *server.Server {
	tb.Helper()
	options.Host, options.NoSigs, options.NoLog = "127.0.0.1", true, true
	if options.Port == 0 {
		options.Port = server.RANDOM_PORT
	}
	embedded, err := server.NewServer(options)
	require.NoError(tb, err)
	embedded.Start()
	tb.Cleanup(func() {
		embedded.Shutdown()
		embedded.WaitForShutdown()
	})
	if !embedded.ReadyForConnections(10e9) {
		tb.Fatal("the broker is not ready")
	}
	return embedded
}

// overPipe returns both ends of an in-memory connection, the first of which collects writes.
func overPipe() (ours *batch.Conn, theirs net.Conn) {
	under, theirs := net.Pipe()
	return batch.New(under), theirs
}
