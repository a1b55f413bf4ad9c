package msgsvc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// TestLeftUnderAWiretap holds that replicas which have left fail one call each at most, while the broker cannot tell that
// they have, because somebody listens to everything.
func TestLeftUnderAWiretap(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		wiretap := b.Connect("wiretap.example").NATS()
		if _, err := wiretap.Subscribe(">", func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := wiretap.FlushWithContext(ctx); err != nil {
			t.Fatal(err)
		}
		connect := func() instance { return serve(t, b.Connect(host, bus.WithAckWait(time.Second))) }
		stays, leaves := connect(), connect()
		store(t, leaves, "key", "value")
		leaves.close(t)
		if _, _, err := stays.Load(t.Context(), "absent"); !errors.Is(err, bus.ErrNoAck) {
			t.Errorf("the first call: %v, want no ack", err)
		}
		expectNone(t, stays, "absent")
		store(t, stays, "key", "again")
		expect(t, stays, "key", "again")
	})
}
