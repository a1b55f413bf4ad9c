package natsconn_test

import (
	"errors"
	"testing"
	"time"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/natsconn/natsconntest"
	"github.com/busline/busline/bus/internal/status"
)

// TestConn_Send_TooLarge holds that a message that the broker would refuse is not sent, and that one of the largest size fits.
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
		if fits != want || err != nil || r.conn.Exceeds(size) == want {
			t.Errorf("%d bytes fit: %t, %v; they exceed the limit: %t", size, fits, err, r.conn.Exceeds(size))
		}
	}
	if err := r.conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.conn.Barrier(t.Context())
	if len(r.received) != 1 {
		t.Errorf("%d messages were sent, want 1", len(r.received))
	}
}

// TestConn_GivenConnection_Closed holds that a connection of the application is lost for good once it is closed, and that nothing waits
// for it.
func TestConn_GivenConnection_Closed(t *testing.T) {
	t.Parallel()
	given := dialGuest(t)
	conn := natsconntest.Dial(t, natsconn.Config{NATS: given.NATS()})
	if conn.IsLost() || conn.IsSettling() || isClosed(conn.GraceExpired()) {
		t.Error("it is lost from the start")
	}
	start, expired := time.Now(), conn.GraceExpired()
	given.NATS().Close()
	await(t, expired)
	if err := conn.AwaitOpen(t.Context()); err != nil || !conn.IsLost() || !conn.IsSettling() || !conn.WasAwaySince(start) {
		t.Errorf("it is lost: %t; %v", conn.IsLost(), err)
	}
	for _, err := range []error{conn.PublishNow("one", "", nil), conn.Flush(t.Context())} {
		if !errors.Is(err, status.ErrDisconnected) {
			t.Errorf("the error is %v", err)
		}
	}
	if conn.Reconnects() != 0 {
		t.Error("it was replaced")
	}
}
