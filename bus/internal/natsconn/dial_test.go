package natsconn_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/internal/natsconn"
)

// TestDial_ForeignScheme holds that a scheme that no broker has is an error once the broker is not there.
func TestDial_ForeignScheme(t *testing.T) {
	t.Parallel()
	const remedy = "; a broker's URL has the scheme nats, tls, ws or wss, not "
	for url, want := range map[string]string{
		"http://127.0.0.1:1": "connect to http://127.0.0.1:1: " + nats.ErrNoServers.Error() +
			remedy + "http: change",
		"nats://127.0.0.1:1,tcp://one:secret@[::1]:1":    "connect to nats://127.0.0.1:1, tcp://[::1]:1: ",
		"127.0.0.1:1, NATS://127.0.0.1:1, tcp://[::1]:1": remedy + "tcp: ",
	} {
		config := natsconn.Config{URL: url, ConnectTimeout: time.Hour}
		_, err := natsconn.Dial(t.Context(), "test", config, zerolog.Nop(), new(logqueue.Queue))
		checkError(t, url, err, want)
	}
}

// pipeBroker is a broker in the process that reads nothing more, once a message has begun, before it has written a
// flood.
type pipeBroker struct{ ended sync.WaitGroup }

func (b *pipeBroker) InProcessConn() (net.Conn, error) {
	ours, theirs := net.Pipe()
	b.ended.Go(func() { b.serve(ours) })
	return theirs, nil
}

func (b *pipeBroker) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, `INFO {"max_payload":4194304,"headers":true}`+"\r\n")
	for reader := bufio.NewReader(conn); ; {
		line, err := reader.ReadString('\n')
		switch {
		case err != nil:
			return
		case line == "PING\r\n":
			_, _ = io.WriteString(conn, "PONG\r\n")
		case strings.HasPrefix(line, "PUB "):
			_, _ = io.WriteString(conn, strings.Repeat("PONG\r\n", 100_000))
		}
	}
}

// TestDial_InProcess_BothWrite holds that a connection within the process does not lock up when both sides write more
// than the other one reads at a time. nats.go holds its lock while it writes, and needs it to read a PONG.
func TestDial_InProcess_BothWrite(t *testing.T) {
	t.Parallel()
	for _, unbatched := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			embedded := new(pipeBroker)
			lines := new(logqueue.Queue)
			conn, err := natsconn.Dial(t.Context(), "test", natsconn.Config{Provider: embedded, Unbatched: unbatched},
				zerolog.Nop(), lines)
			require.NoError(t, err)
			require.NoError(t, conn.NATS().Publish("subject", make([]byte, 2<<20)))
			require.NoError(t, conn.Flush(t.Context()))
			conn.Close()
			embedded.ended.Wait()
		})
	}
}

// TestConn_ReconnectDelay_Bounds holds between which bounds the random pauses are, which grow after 50 attempts.
func TestConn_ReconnectDelay_Bounds(t *testing.T) {
	t.Parallel()
	const soon, later = 100 * time.Millisecond, 400 * time.Millisecond
	for tries, average := range map[int]time.Duration{0: soon, 1: soon, 50: soon, 51: later, 1 << 30: later} {
		shortest, longest := time.Hour, time.Duration(0)
		for range 1000 {
			pause := natsconn.ReconnectDelay(tries)
			shortest, longest = min(shortest, pause), max(longest, pause)
		}
		assert.GreaterOrEqual(t, shortest, average/2, tries)
		assert.Less(t, longest, 3*average/2, tries)
		assert.GreaterOrEqual(t, longest, average, tries)
		assert.LessOrEqual(t, shortest, average, tries)
	}
}

// journal is a log that a test reads.
type journal struct {
	mu   sync.Mutex // protects text
	text strings.Builder
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

// lines returns the lines that contain a text.
func (j *journal) lines(text string) (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// TestConn_HandleError_Attempts holds that an error of attempts to reach a broker that is away, such as one of
// certificates, is logged once, as a reason why the broker cannot be reached.
func TestConn_HandleError_Attempts(t *testing.T) {
	t.Parallel()
	gone, err := broker.Start(broker.Listen("127.0.0.1:0"))
	require.NoError(t, err)
	log, lines := new(journal), new(logqueue.Queue)
	conn, err := natsconn.Dial(t.Context(), "test", natsconn.Config{URL: gone.URL()}, zerolog.New(log), lines)
	require.NoError(t, err)
	defer conn.Close()
	changed := conn.NATS().StatusChanged(nats.RECONNECTING)
	defer conn.NATS().RemoveStatusListener(changed)
	gone.Close()
	await(t, changed)
	for range 10 {
		conn.HandleError(conn.NATS(), nil, errors.New("remote error: tls: expired certificate"))
	}
	lines.Flush(t.Context())
	logged := log.lines("expired certificate")
	require.Len(t, logged, 1)
	assert.Contains(t, logged[0], "cannot be reached again yet")
}
