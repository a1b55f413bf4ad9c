package natsconn_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/natsconn/natsconntest"
	"github.com/busline/busline/bus/internal/status"
)

// TestConn_Send_TooLarge holds that a message that the broker would refuse is not sent, and that one of the largest
// size fits.
func TestConn_Send_TooLarge(t *testing.T) {
	t.Parallel()
	r := open(t, dialInProcess(t), newMember())
	r.mustAdd("one")
	if got := r.conn.MaxPayload(); got != broker.DefaultMaxPayload {
		t.Errorf("the largest message has %d bytes", got)
	}
	for size, want := range map[int]bool{broker.DefaultMaxPayload: true, broker.DefaultMaxPayload + 1: false} {
		buffer := make([]byte, size)
		fits, err := r.conn.Send(t.Context(), time.Minute, "one", "", &buffer)
		assert.Equal(t, want, fits)
		require.NoError(t, err)
		assert.NotEqual(t, want, r.conn.Exceeds(size))
	}
	require.NoError(t, r.conn.Flush(t.Context()))
	r.conn.Barrier(t.Context())
	if len(r.received) != 1 {
		t.Errorf("%d messages were sent, want 1", len(r.received))
	}
}

// TestConn_GivenConnection_Closed holds that a connection of the application is lost for good once it is closed, and
// that nothing waits for it.
func TestConn_GivenConnection_Closed(t *testing.T) {
	t.Parallel()
	appConn := dialGuest(t)
	conn := natsconntest.Dial(t, natsconn.Config{NATS: appConn.NATS()})
	assert.False(t, conn.IsLost(), "it is lost from the start")
	assert.False(t, conn.IsSettling())
	assert.False(t, isClosed(conn.GraceExpired()))
	start, expired := time.Now(), conn.GraceExpired()
	appConn.NATS().Close()
	await(t, expired)
	err := conn.AwaitOpen(t.Context())
	require.NoError(t, err, "it is lost")
	assert.True(t, conn.IsLost(), "it is lost")
	assert.True(t, conn.IsSettling(), "it is lost")
	assert.True(t, conn.WasAwaySince(start), "it is lost")
	for _, err := range []error{conn.PublishNow("one", "", nil), conn.Flush(t.Context())} {
		if !errors.Is(err, status.ErrDisconnected) {
			t.Errorf("the error is %v", err)
		}
	}
	if conn.Reconnects() != 0 {
		t.Error("it was replaced")
	}
}
