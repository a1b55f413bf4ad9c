package eventlog_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/examples/orders/ordersapi"
)

// inOrder handles the events of the example, whose key is the number, but for one that it refuses until it is mended.
type inOrder struct {
	handled chan int
	refused int
	mended  atomic.Bool
}

func (h *inOrder) OnOrdered(_ context.Context, number int, _ string, _ int) error {
	if number == h.refused && !h.mended.Load() {
		return bus.Errorf(http.StatusConflict, "not now")
	}
	h.handled <- number
	return nil
}

// TestReplay_InOrder redelivers a dead letter to a service, and sets it back, that handles its events in order, and so
// has a consumer for each partition.
func TestReplay_InOrder(t *testing.T) {
	t.Parallel()
	w := &world{Bus: bustest.New(t, broker.JetStream(t.TempDir())), t: t}
	w.publisher, w.operator = w.Connect(orders), w.Connect("operator.example")
	publisher, err := ordersapi.NewPublisher(w.publisher, events.Durable())
	require.NoError(t, err)
	h := &inOrder{handled: make(chan int, 100), refused: 7}
	away := w.Connect(mailer, bus.WithLogger(zerolog.Nop()))
	require.NoError(t, events.Subscribe[ordersapi.Events](away, orders, h, events.Durable()))
	const count = 10
	for number := range count {
		require.NoError(t, publisher.OnOrdered(t.Context(), number, "tea", 1))
	}
	handled := func() (sum int) {
		for range count {
			sum += <-h.handled
		}
		return sum
	}
	dead := awaitDeadLetters(t, w.operator, 1)[0]
	h.mended.Store(true)
	require.NoError(t, dead.Redeliver(t.Context()))
	assert.Equal(t, 45, handled())
	subscription := w.awaitBacklog(mailer, 0)
	assert.True(t, subscription.Ordered)
	require.Len(t, w.describe().Subscriptions, 1)
	assert.Equal(t, count, w.describe().Events, "what was redelivered is no event of its own")
	replayed, err := eventlog.Replay(t.Context(), w.operator, orders, mailer, "", time.Time{})
	require.NoError(t, err)
	assert.Equal(t, count+1, replayed, "and what was redelivered")
	assert.Equal(t, 45+7, handled()+<-h.handled, "each comes again")
	w.awaitBacklog(mailer, 0)
	require.NoError(t, away.Close(t.Context()))
	kit.Eventually(t, func() bool { return w.subscription(mailer).Waiting == 0 })
	n, err := eventlog.Forget(t.Context(), w.operator, orders, mailer, "")
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Empty(t, w.describe().Subscriptions)
}
