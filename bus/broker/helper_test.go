package broker_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/busline/busline/bus/broker"
)

// TestMain fails if a closed broker leaks a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a broker until the test ends.
func start(t *testing.T, options ...broker.Option) *broker.Broker {
	t.Helper()
	embedded, err := broker.Start(options...)
	require.NoError(t, err)
	t.Cleanup(embedded.Close)
	return embedded
}

// connect opens a client connection until the test ends.
func connect(t *testing.T, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, options...)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// exchange sends a message from one connection to the other.
func exchange(t *testing.T, from, to *nats.Conn) {
	t.Helper()
	received := make(chan *nats.Msg, 1)
	_, err := to.ChanSubscribe("exchange", received)
	require.NoError(t, err)
	require.NoError(t, to.Flush())
	require.NoError(t, from.Publish("exchange", []byte("hello")))
	if got := string((<-received).Data); got != "hello" {
		t.Errorf("received %q, want hello", got)
	}
}

// bucket opens a key-value bucket, and creates it if it does not exist.
func bucket(t *testing.T, embedded *broker.Broker) jetstream.KeyValue {
	t.Helper()
	manager, err := jetstream.New(connect(t, "", nats.InProcessServer(embedded)))
	require.NoError(t, err)
	kept, err := manager.CreateOrUpdateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "kept"})
	require.NoError(t, err)
	return kept
}
