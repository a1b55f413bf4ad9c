package eventlog_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/test/kit"
)

// TestReplay sets the subscription of a service that runs back, first to a time and then to the beginning, which is
// before the service has subscribed.
func TestReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(w.ordered, 1)
	s, other := newSink(), newSink()
	w.subscribe(mailer, s)
	w.subscribe("stock.example", other)
	w.publish(w.ordered, 2)
	w.publish(w.paid, 1)
	middle := w.aMoment()
	w.publish(w.ordered, 3)
	s.await(t, 2)
	other.await(t, 2)
	w.awaitBacklog(mailer, 0)
	events, err := eventlog.Replay(t.Context(), w.operator, orders, mailer, "on-ordered", middle)
	require.NoError(t, err)
	assert.Equal(t, 1, events)
	s.await(t, 1)
	assert.Equal(t, []int{2, 3, 3}, s.numbers())
	w.awaitBacklog(mailer, 0)
	events, err = eventlog.Replay(t.Context(), w.operator, orders, mailer, "", time.Time{})
	require.NoError(t, err)
	assert.Equal(t, 4, events, "three orders and a payment")
	s.await(t, 3)
	assert.Equal(t, []int{1, 2, 2, 3, 3, 3}, s.numbers())
	assert.Equal(t, []int{2, 3}, other.numbers(), "another service does not notice")
	w.publish(w.ordered, 4)
	s.await(t, 1)
}

// TestReplay_BacklogStays sets a service that is away back to a time after events that it has not handled.
func TestReplay_BacklogStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.subscribe(mailer, newSink()).Close(t.Context()))
	w.publish(w.ordered, 1)
	middle := w.aMoment()
	w.publish(w.ordered, 2)
	events, err := eventlog.Replay(t.Context(), w.operator, orders, mailer, "on-ordered", middle)
	require.NoError(t, err)
	assert.Equal(t, 2, events)
	s := newSink()
	w.subscribe(mailer, s)
	s.await(t, 2)
	assert.Equal(t, []int{1, 2}, s.numbers())
}

// TestReplay_Partitions has a service whose events are handled in order by a consumer for each partition.
func TestReplay_Partitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log, err := w.manager().Stream(t.Context(), w.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	for _, partition := range []string{"3", "17"} {
		_, err := log.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
			Durable: "stock_example__on-ordered__" + partition, AckPolicy: jetstream.AckExplicitPolicy,
			DeliverPolicy: jetstream.DeliverNewPolicy,
			FilterSubject: w.Plane() + ".e.example.orders.on-ordered." + partition,
		})
		require.NoError(t, err)
	}
	for _, partition := range []string{"17", "3", "17"} {
		_, err := w.manager().Publish(t.Context(), w.Plane()+".e.example.orders.on-ordered."+partition, []byte("x"))
		require.NoError(t, err)
	}
	told := w.awaitBacklog("stock.example", 3)
	assert.True(t, told.Ordered)
	assert.Equal(t, w.describe().First, told.Oldest)
	for _, partition := range []string{"3", "17"} {
		reader, err := log.Consumer(t.Context(), "stock_example__on-ordered__"+partition)
		require.NoError(t, err)
		for range reader.CachedInfo().NumPending {
			message, err := reader.Next()
			require.NoError(t, err)
			require.NoError(t, message.DoubleAck(t.Context()))
		}
	}
	w.awaitBacklog("stock.example", 0)
	events, err := eventlog.Replay(t.Context(), w.operator, orders, "stock.example", "", time.Time{})
	require.NoError(t, err)
	assert.Equal(t, 3, events)
	w.awaitBacklog("stock.example", 3)
	n, err := eventlog.Forget(t.Context(), w.operator, orders, "stock.example", "on-ordered")
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Empty(t, w.describe().Subscriptions)
}

func TestReplay_Mistakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := eventlog.Replay(t.Context(), w.operator, orders, mailer, "", time.Time{})
	checkError(t, err, http.StatusBadRequest, "the log of orders.example is empty: there is nothing to replay")
	w.subscribe(mailer, newSink())
	w.publish(w.ordered, 1)
	first := w.describe().First
	for _, row := range []struct {
		name, service, event string
		from                 time.Time
		status               int
		want                 string
	}{
		{"early", mailer, "", first.Add(-time.Minute), http.StatusBadRequest,
			"the log of orders.example begins at " + first.UTC().Format(time.RFC3339Nano) + ", so it does not reach back to"},
		{"future", mailer, "", time.Now().Add(time.Hour), http.StatusBadRequest, "is in the future"},
		{"service", "mailr.example", "", time.Time{}, http.StatusNotFound,
			"mailr.example does not subscribe to stored events of orders.example; did you mean mailer.example?"},
		{"event", mailer, "on-order", time.Time{}, http.StatusNotFound,
			"mailer.example does not subscribe to on-order of orders.example; did you mean on-ordered?"},
		{"no host", "a b", "", time.Time{}, http.StatusBadRequest, `the service: host "a b"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := eventlog.Replay(t.Context(), w.operator, orders, row.service, row.event, row.from)
			checkError(t, err, row.status, row.want)
		})
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn := w.subscribe(mailer, newSink())
	kit.Eventually(t, func() bool { return w.subscription(mailer).Waiting > 0 })
	_, err := eventlog.Forget(t.Context(), w.operator, orders, mailer, "on-ordered")
	checkError(t, err, http.StatusConflict,
		"an instance of mailer.example runs and waits for on-ordered of orders.example: stop it first")
	require.NoError(t, conn.Close(t.Context()))
	kit.Eventually(t, func() bool { return w.subscription(mailer).Waiting == 0 })
	w.publish(w.ordered, 1)
	n, err := eventlog.Forget(t.Context(), w.operator, orders, mailer, "on-ordered")
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	left := w.describe()
	assert.Equal(t, 1, left.Events, "the log keeps its events")
	require.Len(t, left.Subscriptions, 1)
	assert.Equal(t, "on-paid", left.Subscriptions[0].Event)
	w.subscribe(mailer, newSink())
	kit.Eventually(t, func() bool { return w.subscription(mailer).Waiting > 0 })
	n, err = eventlog.Forget(t.Context(), w.operator, orders, mailer, "", eventlog.Force())
	require.NoError(t, err)
	assert.Equal(t, 2, n)
}
