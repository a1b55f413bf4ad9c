package eventlog_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

const (
	orders = "orders.example"
	mailer = "mailer.example"
)

// orderEvents are the events of the tests.
type orderEvents interface {
	OnOrdered(ctx context.Context, number int) error
	OnPaid(ctx context.Context, number int) error
}

// sink handles events.
type sink struct {
	mu      sync.Mutex // protects handled and handle
	handled []int
	news    chan int
	handle  func(ctx context.Context, number int) error
}

func newSink() *sink { return &sink{news: make(chan int, 10_000)} }

// newRefuser returns a sink whose events become dead letters at once.
func newRefuser() *sink {
	s := newSink()
	s.set(func(context.Context, int) error { return bus.Errorf(http.StatusConflict, "not now") })
	return s
}

// set replaces what the sink does with an event.
func (s *sink) set(handle func(ctx context.Context, number int) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = handle
}

func (s *sink) OnOrdered(ctx context.Context, number int) error {
	s.mu.Lock()
	handle := s.handle
	s.mu.Unlock()
	if handle != nil {
		if err := handle(ctx, number); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handled = append(s.handled, number)
	s.news <- number
	return nil
}

func (*sink) OnPaid(context.Context, int) error { return nil }

// numbers returns the numbers that were handled, sorted.
func (s *sink) numbers() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.handled))
}

func (s *sink) await(t *testing.T, count int) {
	t.Helper()
	for range count {
		select {
		case <-s.news:
		case <-t.Context().Done():
			t.Fatal("the test ends")
		}
	}
}

// world is a bus with the publisher orders.example and an operator.
type world struct {
	*bustest.Bus
	t                   *testing.T
	publisher, operator *bus.Conn
	ordered, paid       events.Event[bus.Args]
}

func newWorld(t *testing.T, options ...events.PublishOption) *world {
	t.Helper()
	w := &world{Bus: bustest.New(t, broker.JetStream(t.TempDir())), t: t}
	w.publisher, w.operator = w.Connect(orders), w.Connect("operator.example")
	publisher, err := events.NewPublisher(w.publisher, orders, append(options, events.Durable())...)
	require.NoError(t, err)
	w.ordered, w.paid = events.NewEvent[bus.Args](publisher,
		"/on-ordered"), events.NewEvent[bus.Args](publisher, "/on-paid")
	return w
}

func (w *world) publish(event events.Event[bus.Args], numbers ...int) {
	w.t.Helper()
	for _, number := range numbers {
		require.NoError(w.t, event.Publish(w.t.Context(), bus.Args{"number": number}))
	}
}

func (w *world) subscribe(host string, s *sink, options ...events.SubscribeOption) *bus.Conn {
	w.t.Helper()
	conn := w.Connect(host, bus.WithLogger(zerolog.Nop()))
	require.NoError(w.t, events.Subscribe[orderEvents](conn, orders, s, append(options, events.Durable())...))
	return conn
}

func (w *world) manager() jetstream.JetStream {
	w.t.Helper()
	manager, err := jetstream.New(w.operator.NATS())
	require.NoError(w.t, err)
	return manager
}

func (w *world) describe() eventlog.Log {
	w.t.Helper()
	log, err := eventlog.Describe(w.t.Context(), w.operator, orders)
	require.NoError(w.t, err)
	return log
}

// subscription returns the subscription of a service to on-ordered.
func (w *world) subscription(service string) eventlog.Subscription {
	w.t.Helper()
	all := w.describe().Subscriptions
	at := slices.IndexFunc(all, func(s eventlog.Subscription) bool {
		return s.Service == service &&
			s.Event == "on-ordered"
	})
	require.GreaterOrEqual(w.t, at, 0, "%s does not subscribe: %+v", service, all)
	return all[at]
}

// deadLetters returns the dead letters of orders.example.
func deadLetters(t *testing.T, conn *bus.Conn) (all []eventlog.DeadLetter) {
	t.Helper()
	for each, err := range eventlog.DeadLetters(t.Context(), conn, orders) {
		require.NoError(t, err)
		all = append(all, each)
	}
	return all
}

// awaitDeadLetters waits for so many of them.
func awaitDeadLetters(t *testing.T, conn *bus.Conn, count int) (all []eventlog.DeadLetter) {
	t.Helper()
	kit.Eventually(t, func() bool {
		all = deadLetters(t, conn)
		return len(all) == count
	})
	return all
}

// checkError checks an error of the package.
func checkError(t *testing.T, err error, status int, text string) {
	t.Helper()
	require.Error(t, err)
	assert.Equal(t, status, bus.StatusOf(err), err)
	assert.ErrorContains(t, err, text)
	assert.ErrorAs(t, err, new(*bus.Error))
}

// aMoment is between the time of one event and the next.
func (w *world) aMoment() time.Time {
	w.t.Helper()
	last := w.describe().Last
	kit.Eventually(w.t, func() bool { return time.Since(last) > time.Millisecond })
	return time.Now()
}

// awaitBacklog waits until a service has so many events that it has not handled: JetStream counts them a moment after
// it has stored them.
func (w *world) awaitBacklog(service string, count int) eventlog.Subscription {
	w.t.Helper()
	kit.Eventually(w.t, func() bool { return w.subscription(service).Backlog == count })
	return w.subscription(service)
}
