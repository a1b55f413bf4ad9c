package events_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// sequence returns the numbers from first to last.
func sequence(first, last int) (numbers []int) {
	for number := first; number <= last; number++ {
		numbers = append(numbers, number)
	}
	return numbers
}

// metricsOf returns the metrics of a connection.
func metricsOf(conn *bus.Conn) string {
	page := httptest.NewRecorder()
	conn.ServeMetrics(page, nil)
	return page.Body.String()
}

// TestDurable_NoSubscriberStopsAPublisher has a service leave for good: publishing goes on, the service is cut off, and
// every event is accounted for when it comes back.
func TestDurable_NoSubscriberStopsAPublisher(t *testing.T) {
	t.Parallel()
	b, log := newStored(t), new(kit.Lines)
	source := b.Connect(kit.OrdersHost, bus.WithLogger(zerolog.New(log)))
	ordered := kit.NewOrdered(t, source, events.Durable(), events.MaxBytes(64<<10))
	first := b.Connect("mailer.example")
	kit.Subscribe(t, first, kit.NewSink(), events.Durable())
	stock := kit.Subscribe(t, b.Connect("stock.example"), kit.NewSink(), events.Durable())
	require.NoError(t, first.Close(t.Context()))
	kit.Fire(t, ordered, sequence(1, 100)...)
	kit.AwaitOrders(t, stock, 100)
	require.NoError(t, events.LookAtSubscribers(t.Context(), source))
	assert.Contains(t, metricsOf(source),
		`,publisher="orders.example",subscriber="mailer.example",event="on-ordered"} 100`)
	assert.Empty(t, log.Lines("cut off"))
	for first := 101; first < 600; first += 100 { // the log holds a few hundred, and stock must not fall behind
		kit.Fire(t, ordered, sequence(first, first+99)...)
		kit.AwaitOrders(t, stock, 100)
	}
	require.NoError(t, events.LookAtSubscribers(t.Context(), source))
	log.Await(t, "a subscriber is cut off")
	lines := log.Lines("a subscriber is cut off")
	require.Len(t, lines, 1)
	back := kit.Subscribe(t, b.Connect("mailer.example"), kit.NewSink(), events.Durable())
	awaitHandled(t, b, source)
	handled := kit.OrdersOf(back)
	assert.Equal(t, sequence(600-len(handled)+1, 600), handled, "the newest")
	assert.Contains(t, lines[0], fmt.Sprintf(`"service":"mailer.example","event":"on-ordered","events":%d,`,
		600-len(handled)))
	assert.Contains(t, metricsOf(source), fmt.Sprintf(`subscriber="mailer.example",event="on-ordered"} %d`,
		600-len(handled)))
	record, err := manager(t, source).Stream(t.Context(), b.Plane()+"_DEADLETTERS_orders_example")
	require.NoError(t, err)
	kept, err := record.GetLastMsgForSubject(t.Context(), b.Plane()+".d.example.orders.mailer_example.on-ordered.cut")
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(600-len(handled)), kept.Header.Get("Bus-Cut-Off-Events"))
	assert.Len(t, kit.OrdersOf(stock), 600, "the others")
}

// TestDurable_AboutToBeCutOff warns before the log drops what a service has not handled.
func TestDurable_AboutToBeCutOff(t *testing.T) {
	t.Parallel()
	b, log := newStored(t), new(kit.Lines)
	source := b.Connect(kit.OrdersHost, bus.WithLogger(zerolog.New(log)))
	ordered := kit.NewOrdered(t, source, events.Durable(), events.MaxBytes(64<<10))
	away := b.Connect("mailer.example")
	kit.Subscribe(t, away, kit.NewSink(), events.Durable())
	require.NoError(t, away.Close(t.Context()))
	stream, err := manager(t, source).Stream(t.Context(), b.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	for state := stream.CachedInfo().State; state.Bytes < 58<<10; {
		kit.Fire(t, ordered, 1)
		info, err := stream.Info(t.Context())
		require.NoError(t, err)
		state = info.State
	}
	for range 2 {
		require.NoError(t, events.LookAtSubscribers(t.Context(), source))
	}
	require.NoError(t, source.Close(t.Context())) // writes the log
	assert.Len(t, log.Lines("a subscriber will be cut off soon"), 1)
	assert.Empty(t, log.Lines("a subscriber is cut off"))
}

// TestDurable_FullStreamOfAnOperator refuses new events, and names the subscriber that is behind.
func TestDurable_FullStreamOfAnOperator(t *testing.T) {
	t.Parallel()
	b := newStored(t)
	source := b.Connect(kit.OrdersHost)
	_, err := manager(t, source).CreateStream(t.Context(), jetstream.StreamConfig{
		Name: b.Plane() + "_EVENTS_orders_example", Subjects: []string{b.Plane() + ".e.example.orders.*.*"},
		Retention: jetstream.InterestPolicy, Discard: jetstream.DiscardNew, MaxBytes: 4 << 10,
	})
	require.NoError(t, err)
	ordered := kit.NewOrdered(t, source, events.Durable())
	away := b.Connect("mailer.example", kit.Quiet())
	kit.Subscribe(t, away, kit.NewSink(), events.Durable())
	require.NoError(t, away.Close(t.Context()))
	stored := 0
	for err == nil {
		if err = ordered.Publish(t.Context(), kit.Ordered{Number: 1}); err == nil {
			stored++
		}
	}
	kit.CheckError(t, err, http.StatusInsufficientStorage, bus.ExecutedNo)
	assert.ErrorContains(t, err, "nats stream edit --discard old")
	named := fmt.Sprintf("the furthest behind is mailer.example, which has not handled %d of on-ordered", stored)
	kit.Eventually(t, func() bool { // JetStream counts what a consumer has not handled a moment after it has stored it
		err := ordered.Publish(t.Context(), kit.Ordered{Number: 1})
		return err != nil && strings.Contains(err.Error(), named)
	})
}

// TestDurable_Begins has new services begin with what is stored from now on, with the first event, and with a time.
func TestDurable_Begins(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	kit.Fire(t, ordered, 1, 2)
	stream, err := manager(t, source).Stream(t.Context(), b.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	second, err := stream.GetMsg(t.Context(), 2)
	require.NoError(t, err)
	log := new(kit.Lines)
	for _, test := range []struct {
		host   string
		option events.SubscribeOption
		want   []int
	}{
		{"now.example", events.MaxDeliver(3), []int{3}},
		{"all.example", events.FromBeginning(), []int{1, 2, 3}},
		{"then.example", events.FromTime(second.Time), []int{2, 3}},
		{"early.example", events.FromTime(second.Time.Add(-time.Hour)), []int{1, 2, 3}},
	} {
		t.Run(test.host, func(t *testing.T) {
			t.Parallel()
			conn := b.Connect(test.host, bus.WithLogger(zerolog.New(log)))
			begun := kit.Subscribe(t, conn, kit.NewSink(), events.Durable(), test.option)
			kit.AwaitOrders(t, begun, len(test.want)-1)
			kit.Fire(t, kit.NewOrdered(t, b.Connect(kit.OrdersHost), events.Durable()), 3)
			kit.Eventually(t, func() bool { // the events come in any order
				taken := kit.OrdersOf(begun)
				return !slices.ContainsFunc(test.want, func(number int) bool { return !slices.Contains(taken, number) })
			})
			require.NoError(t, conn.Close(t.Context()))
			again := kit.Subscribe(t, b.Connect(test.host), kit.NewSink(), events.Durable(), test.option)
			awaitHandled(t, b, source)
			assert.NotContains(t, kit.OrdersOf(again), 1, "it begins once")
		})
	}
	t.Cleanup(func() {
		lines := log.Lines("see events.frombeginning")
		require.Len(t, lines, 2, "one for each event")
		assert.Contains(t, lines[0], `"host":"now.example"`)
		assert.Contains(t, lines[0], `"stored":`)
	})
}

// TestSubscribe_WrongBeginnings are errors.
func TestSubscribe_WrongBeginnings(t *testing.T) {
	t.Parallel()
	conn := newStored(t).Connect("mailer.example")
	for _, test := range []struct {
		options []events.SubscribeOption
		want    string
	}{
		{[]events.SubscribeOption{events.FromBeginning()},
			"events.FromBeginning and events.FromTime are for stored events: add events.Durable()"},
		{[]events.SubscribeOption{events.Durable(), events.FromTime(time.Time{})},
			"events.FromTime: name a time, or use events.FromBeginning"},
		{[]events.SubscribeOption{events.Durable(), events.FromTime(time.Now().Add(time.Hour))}, "the time has not come yet"},
	} {
		err := events.Subscribe[kit.OrderEvents](conn, kit.OrdersHost, kit.NewSink(), test.options...)
		assert.ErrorContains(t, err, test.want)
	}
}

// TestDurable_DeletedConsumersLoseNothing has a client delete the consumer while events wait for another attempt and
// others for the first: all come, some of them again.
func TestDurable_DeletedConsumersLoseNothing(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	refusing := make(chan struct{})
	mailer := kit.NewSink()
	mailer.Handle = func(_ context.Context, number int) error {
		select {
		case <-refusing:
			return nil
		default:
			return errors.New("not now")
		}
	}
	kit.Subscribe(t, b.Connect("mailer.example", kit.Quiet()), mailer, events.Durable(), events.MaxInFlight(2),
		events.Backoff(time.Hour, time.Hour))
	kit.Fire(t, ordered, sequence(1, 20)...)
	stream, err := manager(t, source).Stream(t.Context(), b.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	consumer, err := stream.Consumer(t.Context(), "mailer_example__on-ordered")
	require.NoError(t, err)
	kit.Eventually(t, func() bool {
		info, err := consumer.Info(t.Context())
		return err == nil && info.NumPending == 0
	})
	close(refusing)
	require.NoError(t, stream.DeleteConsumer(t.Context(), "mailer_example__on-ordered"))
	kit.Eventually(t, func() bool { return slices.Equal(slices.Compact(kit.OrdersOf(mailer)), sequence(1, 20)) })
}
