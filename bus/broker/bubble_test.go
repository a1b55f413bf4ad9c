package broker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// TestBroker_Bubble holds that a broker works in a testing/synctest bubble, where
// half an hour of pings takes no time. Code inside must not use nats.go's Flush,
// Request and NextMsg, as they share timers with the whole process.
func TestBroker_Bubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, err := nats.Connect("", nats.InProcessServer(start(t)))
		require.NoError(t, err)
		defer conn.Close()
		received := make(chan *nats.Msg, 1)
		_, err = conn.ChanSubscribe("bubble", received)
		require.NoError(t, err)
		time.Sleep(30 * time.Minute)
		require.NoError(t, conn.Publish("bubble", []byte("still here")))
		if got := string((<-received).Data); got != "still here" {
			t.Errorf("received %q", got)
		}
		if reconnects := conn.Stats().Reconnects; reconnects != 0 {
			t.Errorf("the connection was lost %d times", reconnects)
		}
	})
}
