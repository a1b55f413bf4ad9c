package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/natsconn/natsconntest"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// TestMain fails if a test leaks a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const calculatorHost = "calculator.example"

// Instances of the host.
var (
	first  = client.Peer{Host: calculatorHost, ID: "c1aaaaaaaa"}
	second = client.Peer{Host: calculatorHost, ID: "c2aaaaaaaa"}
)

// newClient returns a client, the connection of the client, and a raw connection, to a broker with a limit of message
// bytes.
func newClient(t *testing.T, maxPayload int) (c *client.Client, conn *natsconn.Conn, raw *nats.Conn) {
	t.Helper()
	conn, raw = natsconntest.Connect(t, broker.MaxPayload(maxPayload))
	return client.New(client.Config{
		Host: "caller.example", ID: "a1aaaaaaaa", Plane: "bus", AckWait: time.Second, MaxMessage: 1 << 20, Broker: conn,
		Membership: client.NewMembership(), Base: context.Background(), Controls: worker.NewLimiter(0), Logger: zerolog.Nop(),
		Encode: encode, Dropped: func(subject string, err error) {
			t.Errorf("a message on %s was dropped: %v", subject, err)
		},
	}), conn, raw
}

// encode returns an error as a response.
func encode(failed *status.Error) *wire.Response {
	return &wire.Response{Status: failed.Status, Body: []byte(failed.Error())}
}

// subscribe returns a subscription that the broker knows of.
func subscribe(t *testing.T, raw *nats.Conn, subject string) *nats.Subscription {
	t.Helper()
	subscription, err := raw.SubscribeSync(subject)
	if err == nil {
		err = raw.Flush()
	}
	require.NoError(t, err)
	return subscription
}
