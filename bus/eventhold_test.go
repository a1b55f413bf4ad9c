package bus_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// occupied is an instance that has asked for an event, and has given the only room among its handlers to a call since.
type occupied struct {
	conn    *bus.Conn
	release func()
	called  chan error
}

func newOccupied(t *testing.T, b *bustest.Bus, handler *sink) *occupied {
	t.Helper()
	o := &occupied{conn: b.Connect("mailer.example", bus.WithMaxHandlers(1)), called: make(chan error, 1)}
	begun, finish := make(chan struct{}), make(chan struct{})
	o.release = func() { close(finish) }
	if err := o.conn.Handle("GET", "/slow", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-finish
	})); err != nil {
		t.Fatal(err)
	}
	subscribe(t, o.conn, handler, bus.Durable(), bus.MaxDeliver(1), bus.Backoff(1, 1))
	caller := b.Connect("caller.example")
	go func() { o.called <- caller.Call(t.Context(), "GET https://mailer.example/slow", nil, nil) }()
	<-begun
	return o
}

// holds returns when the instance has an event that it has no room for.
func (o *occupied) holds(t *testing.T) {
	t.Helper()
	eventually(t, func() bool { return bus.HeldEvents(o.conn) == 1 })
}

// TestEvents_WaitForRoom has an event come to an instance that has too much to do: it is handled there, at the first attempt.
func TestEvents_WaitForRoom(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := newSink()
	o := newOccupied(t, b, mailer)
	fire(t, ordered, 1)
	o.holds(t)
	o.release()
	mailer.await(t, 1)
	if err := <-o.called; err != nil {
		t.Error(err)
	}
	consumer, err := manager(t, source).Consumer(t.Context(), b.Plane()+"_EVENTS_orders_example", "mailer_example__on-ordered")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := consumer.Info(t.Context()); err != nil || info.Delivered.Consumer != 1 {
		t.Errorf("%+v, %v", info, err)
	}
	awaitHandled(t, b, source)
}

// TestLateEventsWaitForTheirTurn has JetStream answer a request that the instance has taken for lost, as after a stall: what comes
// too much waits here, in order.
func TestLateEventsWaitForTheirTurn(t *testing.T) {
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
	mailer := newSink()
	mailer.handle = func(_ context.Context, number int) error {
		mu.Lock()
		begun = append(begun, number)
		mu.Unlock()
		<-finish
		return nil
	}
	conn := b.Connect("mailer.example")
	subscribe(t, conn, mailer, bus.Durable(), bus.MaxInFlight(1))
	inbox := b.Plane() + ".r.example.mailer." + conn.ID() + ".e.orders_example.on-ordered"
	next := "$JS.API.CONSUMER.MSG.NEXT." + b.Plane() + "_EVENTS_orders_example.mailer_example__on-ordered"
	if err := conn.NATS().PublishRequest(next, inbox, []byte(`{"batch":4,"expires":3600000000000}`)); err != nil {
		t.Fatal(err)
	}
	fire(t, ordered, 1, 2, 3, 4)
	eventually(t, func() bool { return several() || bus.HeldEvents(conn) == 3 })
	if several() {
		t.Error("more than one is handled at a time")
	}
	close(finish)
	mailer.await(t, 4)
	awaitHandled(t, b, source)
	if !slices.Equal(begun, []int{1, 2, 3, 4}) {
		t.Errorf("they were handled in the order %v", begun)
	}
}

// TestClose_HandlesEventsThatWait has an instance close before there is room for an event: it is handled there when there is.
func TestClose_HandlesEventsThatWait(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := newSink()
	o := newOccupied(t, b, mailer)
	fire(t, ordered, 1)
	o.holds(t)
	closed := make(chan error, 1)
	go func() { closed <- o.conn.Close(t.Context()) }()
	eventually(t, func() bool {
		return errors.Is(newOrdered(t, o.conn).Publish(t.Context(), orderedArguments{}), bus.ErrClosed)
	})
	o.release()
	mailer.await(t, 1)
	for _, ended := range []chan error{o.called, closed} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	awaitHandled(t, b, source)
}

// TestClose_GivesBackEvents has an instance close that has no time to wait for room.
func TestClose_GivesBackEvents(t *testing.T) {
	t.Parallel()
	b, _, ordered := newOrders(t)
	o := newOccupied(t, b, newSink())
	fire(t, ordered, 1)
	o.holds(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.conn.Close(ctx); err == nil {
		t.Error("nothing was cut off")
	}
	subscribe(t, b.Connect("mailer.example"), newSink(), bus.Durable()).await(t, 1)
	o.release()
	if err := <-o.called; err != nil {
		t.Logf("the call was cut off: %v", err)
	}
}

// TestBusyServicesParkNothing has far more events than an instance may handle at once.
func TestBusyServicesParkNothing(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := newSink()
	subscribe(t, b.Connect("mailer.example", bus.WithMaxHandlers(2)), mailer, bus.Durable(), bus.MaxDeliver(1), bus.Backoff(1, 1))
	for number := range 200 {
		fire(t, ordered, number)
	}
	mailer.await(t, 200)
	awaitHandled(t, b, source)
}

// TestKindsOfEventsDoNotWaitForEachOther has one that is never done.
func TestKindsOfEventsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := newSink()
	begun, finish := make(chan struct{}), make(chan struct{})
	mailer.handle = func(context.Context, int) error {
		close(begun)
		<-finish
		return nil
	}
	cancelled := make(chan int, 1)
	mailer.cancel = func(number int) { cancelled <- number }
	subscribe(t, b.Connect("mailer.example"), mailer, bus.Durable(), bus.MaxInFlight(1))
	fire(t, ordered, 1)
	<-begun
	events, err := source.NewPublisher(ordersHost, bus.Durable())
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.NewEvent[bus.Args](events, "/on-cancelled").Publish(t.Context(), bus.Args{"number": 2}); err != nil {
		t.Fatal(err)
	}
	if got := <-cancelled; got != 2 {
		t.Errorf("order %d was cancelled", got)
	}
	close(finish)
	mailer.await(t, 1)
}
