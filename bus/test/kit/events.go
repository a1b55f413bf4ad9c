package kit

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
)

// OrdersHost publishes the events of most tests.
const OrdersHost = "orders.example"

// OrderEvents are the events of most tests.
type OrderEvents interface {
	OnOrdered(ctx context.Context, number int) error
	OnCancelled(ctx context.Context, number int, why string) error
}

// Sink handles events.
type Sink struct {
	Handle func(ctx context.Context, number int) error // nil: it takes every order
	Cancel func(number int)                            // nil: nothing happens

	mu      sync.Mutex // protects ordered
	ordered []int
	news    chan int
}

// NewSink returns a sink that takes everything.
func NewSink() *Sink { return &Sink{news: make(chan int, 10_000)} }

// OnOrdered handles an order.
func (s *Sink) OnOrdered(ctx context.Context, number int) error {
	if s.Handle != nil {
		if err := s.Handle(ctx, number); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ordered = append(s.ordered, number)
	s.news <- number
	return nil
}

// OnCancelled handles an order that is cancelled.
func (s *Sink) OnCancelled(_ context.Context, number int, why string) error { //nolint:revive // subscribers know the name
	if s.Cancel != nil {
		s.Cancel(number)
	}
	return nil
}

// OrdersOf returns the orders that a sink has handled, sorted. It is no method, as that would be an event.
func OrdersOf(s *Sink) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.ordered))
}

// AwaitOrders waits until a sink has handled so many further orders.
func AwaitOrders(t *testing.T, s *Sink, count int) {
	t.Helper()
	for range count {
		select {
		case <-s.news:
		case <-t.Context().Done():
			t.Fatal("the test ends")
		}
	}
}

// Subscribe subscribes a sink to the events of [OrdersHost], and returns it.
func Subscribe(t *testing.T, conn *bus.Conn, s *Sink, options ...events.SubscribeOption) *Sink {
	t.Helper()
	require.NoError(t, events.Subscribe[OrderEvents](conn, OrdersHost, s, options...))
	return s
}

// Ordered has the arguments of an order.
type Ordered struct {
	Number int `json:"number"`
}

// NewOrdered returns the event of an order.
func NewOrdered(t *testing.T, conn *bus.Conn, options ...events.PublishOption) events.Event[Ordered] {
	t.Helper()
	publisher, err := events.NewPublisher(conn, OrdersHost, options...)
	require.NoError(t, err)
	return events.NewEvent[Ordered](publisher, "/on-ordered")
}

// Fire publishes orders.
func Fire(t *testing.T, event events.Event[Ordered], numbers ...int) {
	t.Helper()
	for _, number := range numbers {
		require.NoError(t, event.Publish(t.Context(), Ordered{number}))
	}
}
