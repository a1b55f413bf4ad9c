package events_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestEvents_EachServiceGetsEachOnce has two services with two instances each.
func TestEvents_EachServiceGetsEachOnce(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	ordered := kit.NewOrdered(t, b.Connect(kit.OrdersHost))
	mailer, stock := kit.NewSink(), kit.NewSink()
	for range 2 {
		kit.Subscribe(t, b.Connect("mailer.example"), mailer)
		kit.Subscribe(t, b.Connect("stock.example"), stock)
	}
	var numbers []int
	for number := range 200 {
		numbers = append(numbers, number)
	}
	kit.Fire(t, ordered, numbers...)
	for name, s := range map[string]*kit.Sink{"mailer": mailer, "stock": stock} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.AwaitOrders(t, s, len(numbers))
			if got := kit.OrdersOf(s); !slices.Equal(got, numbers) {
				t.Errorf("%s got %v", name, got)
			}
		})
	}
}

// TestOutcomes waits for what becomes of an event, also at a service that comes later, and no longer at one that has
// left.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	source := b.Connect(kit.OrdersHost)
	ordered := kit.NewOrdered(t, source)
	outcomes := func() (hosts []string, failed []error) {
		for response, err := range ordered.Outcomes(t.Context(), kit.Ordered{Number: 7}) {
			hosts = append(hosts, response.Host)
			if err != nil {
				failed = append(failed, err)
			}
		}
		slices.Sort(hosts)
		return hosts, failed
	}
	hosts, failed := outcomes()
	assert.Empty(t, hosts)
	assert.Empty(t, failed)
	for range 2 {
		kit.Subscribe(t, b.Connect("mailer.example"), kit.NewSink())
	}
	hosts, failed = outcomes()
	assert.Equal(t, []string{"mailer.example"}, hosts)
	assert.Empty(t, failed)
	broken := kit.NewSink()
	broken.Handle = func(context.Context, int) error { return bus.Errorf(http.StatusConflict, "no stock") }
	stock := b.Connect("stock.example")
	kit.Subscribe(t, stock, broken)
	hosts, failed = outcomes()
	assert.Equal(t, []string{"mailer.example", "stock.example"}, hosts)
	require.Len(t, failed, 1)
	assert.Equal(t, http.StatusConflict, bus.StatusOf(failed[0]))
	assert.NoError(t, stock.Close(t.Context()))
	hosts, failed = outcomes()
	assert.Equal(t, []string{"mailer.example"}, hosts)
	assert.Empty(t, failed)
}

// olderEvents are those that an older version of a service knew.
type olderEvents interface {
	OnCancelled(ctx context.Context, number int, why string) error
}

// TestEvents_OlderInstancesTakeNothingAway has an instance of an older version come and go while a new one handles an
// event that the old one does not know.
func TestEvents_OlderInstancesTakeNothingAway(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := kit.Subscribe(t, b.Connect("mailer.example"), kit.NewSink(), events.Durable())
	older := b.Connect("mailer.example")
	require.NoError(t, events.Subscribe[olderEvents](older, kit.OrdersHost, kit.NewSink(), events.Durable(),
		bus.ParamNames("OnCancelled", "number, why", "")))
	kit.Fire(t, ordered, 1, 2)
	kit.AwaitOrders(t, mailer, 2)
	require.NoError(t, older.Close(t.Context()))
	kit.Fire(t, ordered, 3)
	kit.AwaitOrders(t, mailer, 1)
	awaitHandled(t, b, source)
}

// TestEvents_RefusalsOfOthersAreTriedAgain has events refused that another version of a service would have taken: the
// one that the handler calls, or its own.
func TestEvents_RefusalsOfOthersAreTriedAgain(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	conn, catalog := b.Connect("mailer.example", kit.Quiet()), b.Connect("catalog.example")
	require.NoError(t, catalog.Handle("GET", "/old", http.NotFoundHandler()))
	mailer := kit.NewSink()
	mailer.Handle = func(ctx context.Context, _ int) error {
		err := conn.Call(ctx, "GET https://catalog.example/new", nil, nil)
		if bus.StatusOf(err) == http.StatusNotFound {
			go func() {
				_ = catalog.Handle("GET", "/new", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			}()
		}
		return err
	}
	kit.Subscribe(t, conn, mailer, events.Durable(), events.MaxDeliver(1000), fastBackoff())
	kit.Fire(t, ordered, 1)
	kit.AwaitOrders(t, mailer, 1)

	picky := kit.Subscribe(t, b.Connect("picky.example", kit.Quiet()), kit.NewSink(), events.Durable(),
		events.MaxDeliver(2), fastBackoff())
	reader := readParked(t, source)
	publisher, err := events.NewPublisher(source, kit.OrdersHost, events.Durable())
	require.NoError(t, err)
	require.NoError(t, events.NewEvent[bus.Args](publisher, "/on-ordered").Publish(t.Context(),
		bus.Args{"number": "seven"}))
	message, err := reader.Next()
	require.NoError(t, err)
	reason := message.Headers().Get("Bus-Dead-Letter-Reason")
	assert.Contains(t, reason, "attempt 2 was the last: 400 Bad Request: number")
	assert.LessOrEqual(t, len(kit.OrdersOf(picky)), 0)
}

// TestEvents_RestartsLoseNone replaces instance after instance of a service while events are fired: each is handled
// once.
func TestEvents_RestartsLoseNone(t *testing.T) {
	t.Parallel()
	for name, durable := range map[string]bool{"plain": false, "stored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var firing []events.PublishOption
			var serving []events.SubscribeOption
			if durable {
				firing, serving = append(firing, events.Durable()), append(serving, events.Durable())
			}
			b := newStored(t)
			ordered := kit.NewOrdered(t, b.Connect(kit.OrdersHost), firing...)
			mailer := kit.NewSink()
			connect := func() *bus.Conn {
				conn := b.Connect("mailer.example")
				kit.Subscribe(t, conn, mailer, serving...)
				return conn
			}
			serving = append(serving, bus.TimeBudget(10_000_000_000))
			instances := []*bus.Conn{connect(), connect()}
			const restarts, perRestart = 10, 100
			next := make(chan int)
			fired := make(chan struct{})
			go func() {
				defer close(fired)
				for number := range next {
					kit.Fire(t, ordered, number)
				}
			}()
			var numbers []int
			for restart := range restarts {
				closed := make(chan error, 1)
				go func() { closed <- instances[restart%2].Close(t.Context()) }()
				for range perRestart {
					next <- len(numbers)
					numbers = append(numbers, len(numbers))
				}
				require.NoError(t, <-closed)
				instances[restart%2] = connect()
			}
			close(next)
			<-fired
			kit.AwaitOrders(t, mailer, len(numbers))
			if got := kit.OrdersOf(mailer); !slices.Equal(got, numbers) {
				t.Errorf("of %d events %d were handled: %v", len(numbers), len(got), got)
			}
		})
	}
}

// occupied is an instance that has asked for an event, and has given the only room among its handlers to a call since.
type occupied struct {
	conn    *bus.Conn
	release func()
	called  chan error
}

func newOccupied(t *testing.T, b *bustest.Bus, handler *kit.Sink) *occupied {
	t.Helper()
	o := &occupied{conn: b.Connect("mailer.example", bus.WithMaxHandlers(1)), called: make(chan error, 1)}
	begun, finish := make(chan struct{}), make(chan struct{})
	o.release = func() { close(finish) }
	require.NoError(t, o.conn.Handle("GET", "/slow", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-finish
	})))
	kit.Subscribe(t, o.conn, handler, events.Durable(), events.MaxDeliver(1), events.Backoff(1, 1))
	caller := b.Connect("caller.example")
	go func() { o.called <- caller.Call(t.Context(), "GET https://mailer.example/slow", nil, nil) }()
	<-begun
	return o
}

// holds returns when the instance has an event that it has no room for.
func (o *occupied) holds(t *testing.T) {
	t.Helper()
	kit.Eventually(t, func() bool { return events.HeldEvents(o.conn) == 1 })
}

// TestEvents_WaitForRoom has an event come to an instance that has too much to do: it is handled there, at the first
// attempt.
func TestEvents_WaitForRoom(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := kit.NewSink()
	o := newOccupied(t, b, mailer)
	kit.Fire(t, ordered, 1)
	o.holds(t)
	o.release()
	kit.AwaitOrders(t, mailer, 1)
	assert.NoError(t, <-o.called)
	consumer, err := manager(t, source).Consumer(t.Context(), b.Plane()+"_EVENTS_orders_example",
		"mailer_example__on-ordered")
	require.NoError(t, err)
	info, err := consumer.Info(t.Context())
	require.NoError(t, err)
	assert.Equal(t, uint64(1), info.Delivered.Consumer)
	awaitHandled(t, b, source)
}

// TestEvents_LateOnesWaitForTheirTurn has JetStream answer a request that the instance has taken for lost, as after a
// stall: what comes too much waits here, in order.
func TestEvents_LateOnesWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	var mu sync.Mutex
	var begun []int
	several := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(begun) > 1
	}
	finish := make(chan struct{})
	mailer := kit.NewSink()
	mailer.Handle = func(_ context.Context, number int) error {
		mu.Lock()
		begun = append(begun, number)
		mu.Unlock()
		<-finish
		return nil
	}
	conn := b.Connect("mailer.example")
	kit.Subscribe(t, conn, mailer, events.Durable(), events.MaxInFlight(1))
	inbox := b.Plane() + ".r.example.mailer." + conn.ID() + ".e.orders_example.on-ordered"
	next := "$JS.API.CONSUMER.MSG.NEXT." + b.Plane() + "_EVENTS_orders_example.mailer_example__on-ordered"
	require.NoError(t, conn.NATS().PublishRequest(next, inbox, []byte(`{"batch":4,"expires":3600000000000}`)))
	kit.Fire(t, ordered, 1, 2, 3, 4)
	kit.Eventually(t, func() bool { return several() || events.HeldEvents(conn) == 3 })
	if several() {
		t.Error("more than one is handled at a time")
	}
	close(finish)
	kit.AwaitOrders(t, mailer, 4)
	awaitHandled(t, b, source)
	if !slices.Equal(begun, []int{1, 2, 3, 4}) {
		t.Errorf("they were handled in the order %v", begun)
	}
}

// TestClose_HandlesEventsThatWait has an instance close before there is room for an event: it is handled there when
// there is.
func TestClose_HandlesEventsThatWait(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := kit.NewSink()
	o := newOccupied(t, b, mailer)
	kit.Fire(t, ordered, 1)
	o.holds(t)
	closed := make(chan error, 1)
	go func() { closed <- o.conn.Close(t.Context()) }()
	kit.Eventually(t, func() bool {
		return errors.Is(kit.NewOrdered(t, o.conn).Publish(t.Context(), kit.Ordered{}), bus.ErrClosed)
	})
	o.release()
	kit.AwaitOrders(t, mailer, 1)
	for _, ended := range []chan error{o.called, closed} {
		assert.NoError(t, <-ended)
	}
	awaitHandled(t, b, source)
}

// TestClose_GivesBackEvents has an instance close that has no time to wait for room.
func TestClose_GivesBackEvents(t *testing.T) {
	t.Parallel()
	b, _, ordered := newOrders(t)
	o := newOccupied(t, b, kit.NewSink())
	kit.Fire(t, ordered, 1)
	o.holds(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.conn.Close(ctx); err == nil {
		t.Error("nothing was cut off")
	}
	kit.AwaitOrders(t, kit.Subscribe(t, b.Connect("mailer.example"), kit.NewSink(), events.Durable()), 1)
	o.release()
	if err := <-o.called; err != nil {
		t.Logf("the call was cut off: %v", err)
	}
}

// TestEvents_BusyServicesLoseNone has far more events than an instance may handle at once.
func TestEvents_BusyServicesLoseNone(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := kit.NewSink()
	kit.Subscribe(t, b.Connect("mailer.example", bus.WithMaxHandlers(2)), mailer, events.Durable(), events.MaxDeliver(1),
		events.Backoff(1, 1))
	for number := range 200 {
		kit.Fire(t, ordered, number)
	}
	kit.AwaitOrders(t, mailer, 200)
	awaitHandled(t, b, source)
}

// TestEvents_KindsDoNotWaitForEachOther has one that is never done.
func TestEvents_KindsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := kit.NewSink()
	begun, finish := make(chan struct{}), make(chan struct{})
	mailer.Handle = func(context.Context, int) error {
		close(begun)
		<-finish
		return nil
	}
	cancelled := make(chan int, 1)
	mailer.Cancel = func(number int) { cancelled <- number }
	kit.Subscribe(t, b.Connect("mailer.example"), mailer, events.Durable(), events.MaxInFlight(1))
	kit.Fire(t, ordered, 1)
	<-begun
	publisher, err := events.NewPublisher(source, kit.OrdersHost, events.Durable())
	require.NoError(t, err)
	require.NoError(t, events.NewEvent[bus.Args](publisher, "/on-cancelled").Publish(t.Context(), bus.Args{"number": 2}))
	if got := <-cancelled; got != 2 {
		t.Errorf("order %d was cancelled", got)
	}
	close(finish)
	kit.AwaitOrders(t, mailer, 1)
}
