package events_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestAt has events come when their time has come, and not before. A stream of an older release is changed for it.
func TestAt(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{kit.OrdersHost: "", "mailer.example": "", "stock.example": ""},
		broker.JetStream(t.TempDir()))
	source, mailer := e.Connect(kit.OrdersHost), e.Connect("mailer.example")
	ordered := kit.NewOrdered(t, source, events.Durable())
	sink := kit.NewSink()
	deliveries := make(chan events.Delivery, 10)
	sink.Handle = func(ctx context.Context, _ int) error {
		delivery, _ := events.DeliveryOf(ctx)
		deliveries <- delivery
		return nil
	}
	kit.Subscribe(t, mailer, sink, events.Durable())
	plain := kit.Subscribe(t, e.Connect("stock.example"), kit.NewSink())
	at := time.Now().Add(time.Second)
	publish := func(number int, id string, at time.Time) {
		t.Helper()
		ctx := t.Context()
		if id != "" {
			ctx = events.WithID(ctx, id)
		}
		require.NoError(t, ordered.Publish(events.At(ctx, at), kit.Ordered{Number: number}))
	}
	publish(1, "first", at)
	publish(2, "first", at) // a duplicate
	canceled := strings.Repeat("canceled ", 1000)
	publish(3, canceled, at)
	publish(4, "", at)
	publish(5, "", time.Now().Add(-time.Hour))
	require.NoError(t, ordered.Cancel(t.Context(), canceled))
	require.NoError(t, ordered.Cancel(t.Context(), "unknown"))
	require.NoError(t, ordered.Publish(events.After(t.Context(), 24*time.Hour), kit.Ordered{Number: 6}))
	log, err := eventlog.Describe(t.Context(), source, kit.OrdersHost)
	require.NoError(t, err)
	assert.Equal(t, 1, log.Events)
	kit.AwaitOrders(t, sink, 3)
	assert.Equal(t, []int{1, 4, 5}, kit.OrdersOf(sink))
	assert.Equal(t, []int{5}, kit.OrdersOf(plain))
	ids := make(map[string]bool)
	for range 3 {
		delivery := <-deliveries
		ids[delivery.ID] = true
		assert.WithinDuration(t, time.Now(), delivery.Stored, time.Minute)
	}
	assert.True(t, ids["first"])
	assert.Len(t, ids, 3)
	for event, err := range eventlog.Tail(t.Context(), source, kit.OrdersHost, eventlog.Since(time.Time{}),
		eventlog.NoFollow()) {
		require.NoError(t, err)
		assert.True(t, ids[event.ID], event)
	}
	granted, err := source.Permissions()
	require.NoError(t, err)
	assert.Contains(t, granted.String(), `"bus.l.example.orders.*.*"`)
}

// TestAt_Refusals are mistakes, and brokers and streams that cannot.
func TestAt_Refusals(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	conn := b.Connect(kit.OrdersHost)
	later := events.After(t.Context(), time.Hour)
	check := func(err error, code int, want string) {
		t.Helper()
		kit.CheckError(t, err, code, bus.ExecutedNo)
		require.ErrorContains(t, err, want)
	}
	plain := kit.NewOrdered(t, conn)
	check(plain.Publish(later, kit.Ordered{Number: 1}), http.StatusBadRequest, "cannot come later: use a publisher with")
	check(plain.Cancel(t.Context(), "x"), http.StatusBadRequest, "cannot be canceled: use a publisher with")
	ordered := kit.NewOrdered(t, conn, events.Durable(), events.MaxAge(time.Hour))
	check(ordered.Publish(events.After(t.Context(), 2*time.Hour), kit.Ordered{Number: 1}), http.StatusBadRequest,
		"the log keeps events for 1h0m0s")
	check(ordered.Cancel(t.Context(), ""), http.StatusBadRequest, "without the id of events.WithID")
	manager, err := jetstream.New(conn.NATS())
	require.NoError(t, err)
	_, err = manager.CreateStream(t.Context(), jetstream.StreamConfig{Name: conn.Plane() + "_EVENTS_full_example",
		Subjects: []string{conn.Plane() + ".e.example.full.*.*"}, Discard: jetstream.DiscardNew})
	require.NoError(t, err)
	publisher, err := events.NewPublisher(conn, "full.example", events.Durable())
	require.NoError(t, err)
	full := events.NewEvent[kit.Ordered](publisher, "/on-ordered")
	check(full.Publish(later, kit.Ordered{Number: 1}), http.StatusServiceUnavailable,
		"message scheduling cannot use discard new")
	require.NoError(t, full.Publish(t.Context(), kit.Ordered{Number: 1}))
}
