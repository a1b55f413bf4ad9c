package events_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

func newStored(t *testing.T, options ...broker.Option) *bustest.Bus {
	t.Helper()
	return bustest.New(t, append(options, broker.JetStream(t.TempDir()))...)
}

// newOrders returns a bus with a source whose events are stored.
func newOrders(t *testing.T) (b *bustest.Bus, source *bus.Conn, ordered events.Event[kit.Ordered]) {
	t.Helper()
	b = newStored(t)
	source = b.Connect(kit.OrdersHost)
	return b, source, kit.NewOrdered(t, source, events.Durable())
}

func manager(t *testing.T, conn *bus.Conn) jetstream.JetStream {
	t.Helper()
	made, err := jetstream.New(conn.NATS())
	require.NoError(t, err)
	return made
}

// fastBackoff is for tests.
func fastBackoff() events.SubscribeOption {
	return events.Backoff(time.Millisecond, 10*time.Millisecond)
}

// TestDurable_EventsWait has a service away while events are fired.
func TestDurable_EventsWait(t *testing.T) {
	t.Parallel()
	b, _, ordered := newOrders(t)
	kit.Fire(t, ordered, 1) // before the first subscription
	away := b.Connect("mailer.example")
	first := kit.Subscribe(t, away, kit.NewSink(), events.Durable())
	kit.Fire(t, ordered, 2)
	kit.AwaitOrders(t, first, 1)
	require.NoError(t, away.Close(t.Context()))
	kit.Fire(t, ordered, 3, 4)
	second := kit.Subscribe(t, b.Connect("mailer.example"), kit.NewSink(), events.Durable())
	kit.AwaitOrders(t, second, 2)
	assert.Equal(t, []int{2}, kit.OrdersOf(first))
	assert.Equal(t, []int{3, 4}, kit.OrdersOf(second))
}

// TestInstances_ShareStoredEvents has two services, with two instances each.
func TestInstances_ShareStoredEvents(t *testing.T) {
	t.Parallel()
	b, _, ordered := newOrders(t)
	mailer, stock, plain := kit.NewSink(), kit.NewSink(), kit.NewSink()
	for range 2 {
		kit.Subscribe(t, b.Connect("mailer.example"), mailer, events.Durable(), events.MaxInFlight(3))
		kit.Subscribe(t, b.Connect("stock.example"), stock, events.Durable())
		kit.Subscribe(t, b.Connect("plain.example"), plain)
	}
	var numbers []int
	for number := range 100 {
		numbers = append(numbers, number)
	}
	kit.Fire(t, ordered, numbers...)
	for name, s := range map[string]*kit.Sink{"mailer": mailer, "stock": stock, "plain": plain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.AwaitOrders(t, s, len(numbers))
			if got := kit.OrdersOf(s); !slices.Equal(got, numbers) {
				t.Errorf("%s got %v", name, got)
			}
		})
	}
}

// TestDurable_Redelivery fails twice.
func TestDurable_Redelivery(t *testing.T) {
	t.Parallel()
	b, _, ordered := newOrders(t)
	ids := make(chan string, 3)
	mailer := kit.NewSink()
	mailer.Handle = func(ctx context.Context, _ int) error {
		caller, _ := bus.CallerOf(ctx)
		ids <- caller.MsgID
		if len(ids) == 2 {
			panic("boom")
		}
		if len(ids) < 3 {
			return errors.New("the mail server is away")
		}
		return nil
	}
	kit.Subscribe(t, b.Connect("mailer.example", kit.Quiet()), mailer, events.Durable(), events.MaxDeliver(5),
		fastBackoff())
	kit.Fire(t, ordered, 7)
	kit.AwaitOrders(t, mailer, 1)
	first := <-ids
	assert.NotEmpty(t, first, "the attempts are of different messages")
	assert.Equal(t, first, <-ids)
	assert.Equal(t, first, <-ids)
}

// readParked reads what is parked of the events of a source.
func readParked(t *testing.T, source *bus.Conn) jetstream.Consumer {
	t.Helper()
	parked, err := manager(t, source).Stream(t.Context(), source.Plane()+"_DEADLETTERS_orders_example")
	require.NoError(t, err)
	reader, err := parked.CreateConsumer(t.Context(), jetstream.ConsumerConfig{})
	require.NoError(t, err)
	return reader
}

// TestDurable_DeadLetters has one that is refused, and one that always fails.
func TestDurable_DeadLetters(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	var attempts [2]atomic.Int64
	mailer := kit.NewSink()
	mailer.Handle = func(_ context.Context, number int) error {
		if number > 1 {
			return nil
		}
		attempts[number].Add(1)
		return bus.Errorf([]int{http.StatusUnprocessableEntity, http.StatusBadGateway}[number],
			"order %d cannot be\nmailed", number)
	}
	mailing := b.Connect("mailer.example", kit.Quiet())
	kit.Subscribe(t, mailing, mailer, events.Durable(), events.MaxDeliver(3), fastBackoff())
	reader := readParked(t, source)
	checkParked(t, mailing, 0)
	kit.Fire(t, ordered, 0, 1, 2)
	kit.AwaitOrders(t, mailer, 1)
	reasons := make(map[string]string)
	for range 2 {
		message, err := reader.Next()
		require.NoError(t, err)
		assert.Regexp(t, "^"+b.Plane()+`\.d\.example\.orders\.mailer_example\.on-ordered\.[0-9]+$`, message.Subject())
		if !strings.Contains(string(message.Data()), "\r\n\r\n{\"number\":") {
			t.Errorf("parked %q", message.Data())
		}
		reasons[message.Headers().Get("Bus-Dead-Letter-Attempts")] = message.Headers().Get("Bus-Dead-Letter-Reason")
	}
	assert.Contains(t, reasons["1"], "422", "reasons")
	assert.Contains(t, reasons["3"], "attempt 3 was the last: 502 Bad Gateway: order 1 cannot be mailed", "reasons")
	assert.Equal(t, int64(1), attempts[0].Load())
	assert.Equal(t, int64(3), attempts[1].Load())
	awaitHandled(t, b, source)
	checkParked(t, mailing, 2)
}

// checkParked looks for the metric of how many events of orders.example an instance has parked.
func checkParked(t *testing.T, conn *bus.Conn, want int) {
	t.Helper()
	page := httptest.NewRecorder()
	conn.ServeMetrics(page, nil)
	line := fmt.Sprintf("busline_dead_letters_total{host=%q,id=%q,publisher=%q,event=\"on-ordered\"} %d\n", conn.Host(),
		conn.ID(), kit.OrdersHost, want)
	if !strings.Contains(page.Body.String(), line) {
		t.Errorf("no %q in\n%s", line, page.Body)
	}
}

// TestDurable_LargestEventAsDeadLetter refuses the largest event that is taken, for a long reason.
func TestDurable_LargestEventAsDeadLetter(t *testing.T) {
	t.Parallel()
	b := newStored(t)
	b.AllowUnknownFields() // the padding
	source := b.Connect(kit.OrdersHost)
	publisher, err := events.NewPublisher(source, kit.OrdersHost, events.Durable())
	require.NoError(t, err)
	mailer := kit.NewSink()
	mailer.Handle = func(context.Context, int) error {
		return bus.Errorf(http.StatusUnprocessableEntity, "%s", strings.Repeat("reason ", 1000))
	}
	kit.Subscribe(t, b.Connect(strings.Repeat("mailer.", 30)+"example", kit.Quiet()), mailer, events.Durable())
	size, large := int(source.NATS().MaxPayload()), events.NewEvent[bus.Args](publisher, "/on-ordered")
	for ; ; size -= 100 {
		err := large.Publish(t.Context(), bus.Args{"number": 1, "padding": strings.Repeat("x", size)})
		if err == nil {
			break
		}
		if bus.StatusOf(err) != http.StatusRequestEntityTooLarge {
			t.Fatal(err)
		}
	}
	reader := readParked(t, source)
	message, err := reader.Next()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(message.Data()), size)
	assert.GreaterOrEqual(t, len(message.Headers().Get("Bus-Dead-Letter-Reason")), 1000)
}

// TestEvent_IDs fires the same event twice.
func TestEvent_IDs(t *testing.T) {
	t.Parallel()
	b, _, ordered := newOrders(t)
	mailer := kit.Subscribe(t, b.Connect("mailer.example"), kit.NewSink(), events.Durable())
	for _, number := range []int{1, 1, 2} {
		ctx := events.WithID(t.Context(), string(rune('0'+number)))
		require.NoError(t, ordered.Publish(ctx, kit.Ordered{Number: number}))
	}
	kit.Fire(t, ordered, 3)
	kit.AwaitOrders(t, mailer, 3)
	if got := kit.OrdersOf(mailer); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("had %v", got)
	}
}

// TestDurable_NeedsJetStream says so on both sides.
func TestDurable_NeedsJetStream(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	publisher, err := events.NewPublisher(b.Connect(kit.OrdersHost), kit.OrdersHost, events.Durable())
	assert.Nil(t, publisher, "the source")
	assert.Equal(t, http.StatusServiceUnavailable, bus.StatusOf(err), "the source")
	assert.ErrorContains(t, err, "the broker has no JetStream", "the source")
	conn := b.Connect("mailer.example")
	err = events.Subscribe[kit.OrderEvents](conn, kit.OrdersHost, kit.NewSink(), events.Durable())
	assert.ErrorContains(t, err, "the broker has no JetStream", "the subscriber")
	kit.Subscribe(t, conn, kit.NewSink()) // nothing is left of the attempt
}

// TestClose_FinishesStoredEvents has a handler run when its instance closes: the event is done, and what comes then
// waits for another instance.
func TestClose_FinishesStoredEvents(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	begun, finish := make(chan struct{}), make(chan struct{})
	first := kit.NewSink()
	first.Handle = func(ctx context.Context, _ int) error {
		close(begun)
		<-finish
		return ctx.Err()
	}
	closing := b.Connect("mailer.example")
	kit.Subscribe(t, closing, first, events.Durable(), events.MaxInFlight(1))
	kit.Fire(t, ordered, 1)
	<-begun
	closed := make(chan error, 1)
	go func() { closed <- closing.Close(t.Context()) }()
	kit.Eventually(t, func() bool {
		return errors.Is(kit.NewOrdered(t, closing).Publish(t.Context(), kit.Ordered{}), bus.ErrClosed)
	})
	kit.Fire(t, ordered, 2)
	close(finish)
	assert.NoError(t, <-closed)
	second := kit.Subscribe(t, b.Connect("mailer.example"), kit.NewSink(), events.Durable())
	kit.AwaitOrders(t, second, 1)
	assert.Equal(t, []int{1}, kit.OrdersOf(first))
	assert.Equal(t, []int{2}, kit.OrdersOf(second))
	awaitHandled(t, b, source)
}

// awaitHandled returns when all services have handled all events.
func awaitHandled(t *testing.T, b *bustest.Bus, conn *bus.Conn) {
	t.Helper()
	stream, err := manager(t, conn).Stream(t.Context(), b.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	kit.Eventually(t, func() bool {
		backlog := 0
		listed := stream.ListConsumers(t.Context())
		for info := range listed.Info() {
			backlog += int(info.NumPending) + info.NumAckPending
		}
		return listed.Err() == nil && backlog == 0
	})
}

// TestDurable_ConsumersAreMadeAnew has a client delete one under a service that runs.
func TestDurable_ConsumersAreMadeAnew(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := kit.Subscribe(t, b.Connect("mailer.example", kit.Quiet()), kit.NewSink(), events.Durable())
	kit.Fire(t, ordered, 1)
	kit.AwaitOrders(t, mailer, 1)
	stream := b.Plane() + "_EVENTS_orders_example"
	require.NoError(t, manager(t, source).DeleteConsumer(t.Context(), stream, "mailer_example__on-ordered"))
	kit.Eventually(t, func() bool {
		_, err := manager(t, source).Consumer(t.Context(), stream, "mailer_example__on-ordered")
		return err == nil
	})
	kit.Fire(t, ordered, 2)
	kit.AwaitOrders(t, mailer, 1)
}

// TestServices_MakeStreamsAnew has a client delete the stream of a source under a service that runs: it is made as it
// was.
func TestServices_MakeStreamsAnew(t *testing.T) {
	t.Parallel()
	b := newStored(t)
	source := b.Connect(kit.OrdersHost)
	ordered := kit.NewOrdered(t, source, events.Durable(), events.MaxAge(time.Hour), events.MaxBytes(1<<20))
	mailer := kit.Subscribe(t, b.Connect("mailer.example", kit.Quiet()), kit.NewSink(), events.Durable())
	name := b.Plane() + "_EVENTS_orders_example"
	require.NoError(t, manager(t, source).DeleteStream(t.Context(), name))
	kit.Eventually(t, func() bool {
		_, err := manager(t, source).Consumer(t.Context(), name, "mailer_example__on-ordered")
		return err == nil
	})
	stream, err := manager(t, source).Stream(t.Context(), name)
	require.NoError(t, err)
	kept := stream.CachedInfo().Config
	assert.Equal(t, time.Hour, kept.MaxAge)
	assert.Equal(t, int64(1<<20), kept.MaxBytes)
	kit.Fire(t, ordered, 1)
	kit.AwaitOrders(t, mailer, 1)
}

// TestEvents_AreAskedForAnew cuts a service off from its broker, in whose place comes another: that is asked at once,
// and not only when the last request must have been answered.
func TestEvents_AreAskedForAnew(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(conn *bus.Conn, way *kit.Fragile){
		"cut":    func(_ *bus.Conn, way *kit.Fragile) { way.Cut(false) },
		"closed": func(conn *bus.Conn, _ *kit.Fragile) { conn.NATS().Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, _ := newOrders(t)
			way := &kit.Fragile{InProcessConnProvider: b.Broker()}
			mailing := b.Connect("mailer.example", bus.WithBroker(way), kit.Quiet())
			kit.Subscribe(t, mailing, kit.NewSink(), events.Durable())
			events.StopAsking(mailing)
			another := bustest.New(t)
			spy := another.Connect("spy.example")
			asked, err := spy.NATS().SubscribeSync("$JS.API.CONSUMER.MSG.NEXT.*.mailer_example__on-ordered")
			require.NoError(t, err)
			kit.Flush(t, spy.NATS())
			way.Move(another.Broker())
			lose(mailing, way)
			_, err = asked.NextMsgWithContext(t.Context())
			assert.NoError(t, err)
		})
	}
}

// TestSmallRequests has a consumer that hands out one event for a request, or keeps none for long, as an operator or a
// limit of the broker may want it: before the service starts, and while it runs.
func TestSmallRequests(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*jetstream.ConsumerConfig){
		"one event":   func(config *jetstream.ConsumerConfig) { config.MaxRequestBatch = 1 },
		"two seconds": func(config *jetstream.ConsumerConfig) { config.MaxRequestExpires = 2 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, source, ordered := newOrders(t)
			running := b.Connect("mailer.example", kit.Quiet())
			first := kit.Subscribe(t, running, kit.NewSink(), events.Durable(), events.MaxInFlight(2))
			limitConsumer(t, b, source, limit)
			kit.Fire(t, ordered, 1, 2, 3, 4)
			kit.AwaitOrders(t, first, 4)
			require.NoError(t, running.Close(t.Context()))
			log := new(kit.Lines)
			second := kit.Subscribe(t, b.Connect("mailer.example", bus.WithLogger(zerolog.New(log))), kit.NewSink(),
				events.Durable())
			kit.Fire(t, ordered, 1, 2, 3)
			kit.Eventually(t, func() bool { return len(kit.OrdersOf(second)) == 3 || len(log.Lines("cannot be fetched")) > 0 })
			if wrong := log.Lines("cannot be fetched"); len(wrong) > 0 {
				t.Error(wrong)
			}
		})
	}
}

// TestDurable_ServersOfAClusterComeAndGo has JetStream say that a request for events is void because another server
// leads now, or this one shuts down: the instance asks again without a warning. It says so if no server answers.
func TestDurable_ServersOfAClusterComeAndGo(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]int{"409 Leadership Change": 0, "409 Server Shutdown": 0, "503 ": 1} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			b, _, _ := newOrders(t)
			spy := b.Connect("spy.example").NATS()
			asked, err := spy.SubscribeSync("$JS.API.CONSUMER.MSG.NEXT.*.mailer_example__on-ordered")
			require.NoError(t, err)
			require.NoError(t, spy.Flush())
			log := new(kit.Lines)
			kit.Subscribe(t, b.Connect("mailer.example", bus.WithLogger(zerolog.New(log))), kit.NewSink(), events.Durable())
			request, err := asked.NextMsgWithContext(t.Context())
			require.NoError(t, err)
			told := nats.NewMsg(request.Reply)
			code, description, _ := strings.Cut(status, " ")
			told.Header.Set("Status", code)
			told.Header.Set("Description", description)
			require.NoError(t, spy.PublishMsg(told))
			_, err = asked.NextMsgWithContext(t.Context())
			require.NoError(t, err)
			if got := log.Lines("cannot be fetched"); len(got) != want || want > 0 &&
				!strings.Contains(got[0], "503 no server answers for the consumer") {
				t.Errorf("it has logged %q", got)
			}
		})
	}
}

// mailersConsumer returns how the consumer of the mailer is configured.
func mailersConsumer(t *testing.T, b *bustest.Bus, conn *bus.Conn) jetstream.ConsumerConfig {
	t.Helper()
	consumer, err := manager(t, conn).Consumer(t.Context(), b.Plane()+"_EVENTS_orders_example",
		"mailer_example__on-ordered")
	require.NoError(t, err)
	return consumer.CachedInfo().Config
}

// limitConsumer has an operator change the consumer of the mailer.
func limitConsumer(t *testing.T, b *bustest.Bus, conn *bus.Conn, change func(*jetstream.ConsumerConfig)) {
	t.Helper()
	config := mailersConsumer(t, b, conn)
	change(&config)
	_, err := manager(t, conn).UpdateConsumer(t.Context(), b.Plane()+"_EVENTS_orders_example", config)
	require.NoError(t, err)
}

// TestDurable_MaxInFlight has a broker, a stream and an operator that let a service have fewer events at a time than it
// would.
func TestDurable_MaxInFlight(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		limited []broker.Option
		limits  jetstream.StreamConsumerLimits
		want    int
	}{
		{name: "the broker", limited: []broker.Option{broker.Config("jetstream { limits { max_ack_pending: 500 } }")},
			want: 500},
		{name: "the stream", limits: jetstream.StreamConsumerLimits{MaxAckPending: 5000, InactiveThreshold: 2 * time.Hour},
			want: 5000},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newStored(t, test.limited...)
			source := b.Connect(kit.OrdersHost)
			ordered := kit.NewOrdered(t, source, events.Durable())
			stream, err := manager(t, source).Stream(t.Context(), b.Plane()+"_EVENTS_orders_example")
			require.NoError(t, err)
			limited := stream.CachedInfo().Config
			limited.ConsumerLimits = test.limits
			_, err = manager(t, source).UpdateStream(t.Context(), limited)
			require.NoError(t, err)
			mailer := kit.NewSink()
			for _, want := range []int{test.want, 50} {
				kit.Subscribe(t, b.Connect("mailer.example"), mailer, events.Durable())
				if got := mailersConsumer(t, b, source).MaxAckPending; got != want {
					t.Errorf("%d at a time, want %d", got, want)
				}
				kit.Fire(t, ordered, 1)
				kit.AwaitOrders(t, mailer, 1)
				limitConsumer(t, b, source, func(config *jetstream.ConsumerConfig) { config.MaxAckPending = 50 })
			}
		})
	}
}

// TestDurable_JetStreamIsFull has a stream without a limit of its own in a broker that stores less than what is fired,
// and none that the bus could make.
func TestDurable_JetStreamIsFull(t *testing.T) {
	t.Parallel()
	b := newStored(t, broker.Config("jetstream { max_file_store: 64KB }"))
	source := b.Connect(kit.OrdersHost)
	makeStream(t, b, source, ">", jetstream.LimitsPolicy)
	publisher, err := events.NewPublisher(source, kit.OrdersHost, events.Durable())
	require.NoError(t, err)
	for range 10 {
		err = errors.Join(err, events.NewEvent[bus.Args](publisher, "/on-ordered").Publish(t.Context(),
			bus.Args{"x": strings.Repeat("x", 10<<10)}))
	}
	_, unmade := events.NewPublisher(source, "other.example", events.Durable())
	for _, err := range []error{err, unmade} {
		assert.Equal(t, http.StatusInsufficientStorage, bus.StatusOf(err))
		assert.ErrorContains(t, err, "JetStream has no room for the stream ")
	}
}

// TestDurable_StreamThatStoresNothing has a stream confirm nothing, as one does whose disk is full.
func TestDurable_StreamThatStoresNothing(t *testing.T) {
	t.Parallel()
	b := newStored(t)
	source := b.Connect(kit.OrdersHost)
	publisher, err := events.NewPublisher(source, kit.OrdersHost, events.Durable())
	require.NoError(t, err)
	stream, err := manager(t, source).Stream(t.Context(), b.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.NoAck = true
	_, err = manager(t, source).UpdateStream(t.Context(), config)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err = events.NewEvent[bus.Args](publisher, "/on-ordered").Publish(ctx, nil)
	kit.CheckError(t, err, http.StatusInsufficientStorage, bus.ExecutedUnknown)
	failed := kit.AsBusError(t, err)
	if !strings.Contains(failed.Detail, "its disk may be full") {
		t.Errorf("%v, want status 507, executed unknown", err)
	}
}

// TestDurable_PublishIsRefused says why.
func TestDurable_PublishIsRefused(t *testing.T) {
	t.Parallel()
	b := newStored(t)
	source := b.Connect(kit.OrdersHost)
	publisher, err := events.NewPublisher(source, kit.OrdersHost, events.Durable(), events.MaxAge(time.Hour),
		events.MaxBytes(4<<10))
	require.NoError(t, err)
	large := events.NewEvent[bus.Args](publisher, "/on-ordered")
	refused := map[string]struct {
		fire   func() error
		status int
		want   string
	}{
		"too large": {func() error { return large.Publish(t.Context(), bus.Args{"x": strings.Repeat("x", 2<<20)}) },
			http.StatusRequestEntityTooLarge, "exceeds the broker's limit"},
		"a folder": {func() error {
			return events.NewEvent[bus.Args](publisher, "/a/on-ordered").Publish(t.Context(), nil)
		}, http.StatusBadRequest, "more than one segment"},
	}
	for name, r := range refused {
		err := r.fire()
		assert.Equal(t, r.status, bus.StatusOf(err), name)
		assert.ErrorContains(t, err, r.want, name)
	}
	require.NoError(t, manager(t, source).DeleteStream(t.Context(), b.Plane()+"_EVENTS_orders_example"))
	if err := large.Publish(t.Context(), nil); err != nil {
		t.Errorf("without the stream: %v", err)
	}
	stream, err := manager(t, source).Stream(t.Context(), b.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	kept := stream.CachedInfo().Config
	assert.Equal(t, time.Hour, kept.MaxAge)
	assert.Equal(t, int64(4<<10), kept.MaxBytes)
}
