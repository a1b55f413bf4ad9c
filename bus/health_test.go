package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestHealth_CountsOverflow floods a connection that has no time: what is thrown away is counted, logged once, and
// turns it unhealthy until it has stopped.
func TestHealth_CountsOverflow(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		log := new(kit.Lines)
		conn := b.Connect("caller.example", bus.WithLogger(zerolog.New(log)))
		to := subject.Response(b.Plane(), conn.Host(), conn.ID())
		answer := wire.AppendResponse(nil, &wire.Response{Status: 202, OpCode: kit.Ack, FromHost: "evil.example", FromID: kit.ScriptedID, MsgID: "m1"})
		raw := kit.RawClient(t, b.World)
		assert.True(t, conn.Healthy(), "not healthy at first")
		assert.Zero(t, conn.Stats().SlowConsumerDropped)
		for episode := range 2 {
			release := bus.HoldResponses(conn)
			for range bus.IntakeCapacity + 100 {
				require.NoError(t, raw.Publish(to, answer))
			}
			kit.Flush(t, raw)
			kit.Flush(t, conn.NATS())
			release()
			synctest.Wait()
			lost := conn.Stats().SlowConsumerDropped
			if rounds := int64(episode + 1); lost < 90*rounds || lost > 110*rounds { // greetings may be held, too
				t.Errorf("%d messages of %d were thrown away", lost, 100*rounds)
			}
			time.Sleep(9 * time.Second)
			if conn.Healthy() {
				t.Error("healthy, so soon")
			}
			time.Sleep(2 * time.Second)
			if !conn.Healthy() {
				t.Error("not healthy again")
			}
			if told := log.Count("are thrown away"); told != episode+1 {
				t.Errorf("episode %d was logged %d times: %s", episode, told, log)
			}
		}
		b.Broker().Close() // so that no other connection is made in place of that one
		conn.NATS().Close()
		if conn.Healthy() {
			t.Error("healthy without a broker connection")
		}
	})
}
