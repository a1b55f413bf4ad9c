package bus_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

const ordersHost = "orders.example"

// orderEvents are the events of most tests.
type orderEvents interface {
	OnOrdered(ctx context.Context, number int) error
	OnCancelled(ctx context.Context, number int, why string) error
}

// sink handles events.
type sink struct {
	mu      sync.Mutex // protects ordered
	ordered []int
	news    chan int
	handle  func(ctx context.Context, number int) error
	cancel  func(number int)
}

func newSink() *sink { return &sink{news: make(chan int, 10_000)} }

func (s *sink) OnOrdered(ctx context.Context, number int) error {
	if s.handle != nil {
		if err := s.handle(ctx, number); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ordered = append(s.ordered, number)
	s.news <- number
	return nil
}

func (s *sink) OnCancelled(_ context.Context, number int, why string) error {
	if s.cancel != nil {
		s.cancel(number)
	}
	return nil
}

// taken are the orders that were handled, sorted.
func (s *sink) taken() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.ordered))
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

func subscribe(t *testing.T, conn *bus.Conn, s *sink, options ...bus.SubscribeOption) *sink {
	t.Helper()
	if err := bus.Subscribe[orderEvents](conn, ordersHost, s, options...); err != nil {
		t.Fatal(err)
	}
	return s
}

type orderedArguments struct {
	Number int `json:"number"`
}

func newOrdered(t *testing.T, conn *bus.Conn, options ...bus.PublishOption) bus.Event[orderedArguments] {
	t.Helper()
	events, err := conn.NewPublisher(ordersHost, options...)
	if err != nil {
		t.Fatal(err)
	}
	return bus.NewEvent[orderedArguments](events, "/on-ordered")
}

func fire(t *testing.T, event bus.Event[orderedArguments], numbers ...int) {
	t.Helper()
	for _, number := range numbers {
		if err := event.Publish(t.Context(), orderedArguments{number}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEachServiceGetsEachEventOnce has two services with two instances each.
func TestEachServiceGetsEachEventOnce(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	ordered := newOrdered(t, b.Connect(ordersHost))
	mailer, stock := newSink(), newSink()
	for range 2 {
		subscribe(t, b.Connect("mailer.example"), mailer)
		subscribe(t, b.Connect("stock.example"), stock)
	}
	var numbers []int
	for number := range 200 {
		numbers = append(numbers, number)
	}
	fire(t, ordered, numbers...)
	for name, s := range map[string]*sink{"mailer": mailer, "stock": stock} {
		s.await(t, len(numbers))
		if got := s.taken(); !slices.Equal(got, numbers) {
			t.Errorf("%s got %v", name, got)
		}
	}
}

// TestOutcomes waits for what becomes of an event, also at a service that comes later, and no longer at one that has left.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	source := b.Connect(ordersHost)
	ordered := newOrdered(t, source)
	outcomes := func() (hosts []string, failed []error) {
		for response, err := range ordered.Outcomes(t.Context(), orderedArguments{7}) {
			hosts = append(hosts, response.Host)
			if err != nil {
				failed = append(failed, err)
			}
		}
		slices.Sort(hosts)
		return hosts, failed
	}
	if hosts, failed := outcomes(); len(hosts) != 0 || len(failed) != 0 {
		t.Errorf("nobody subscribes, and %v answer, %v", hosts, failed)
	}
	for range 2 {
		subscribe(t, b.Connect("mailer.example"), newSink())
	}
	if hosts, failed := outcomes(); !slices.Equal(hosts, []string{"mailer.example"}) || len(failed) != 0 {
		t.Errorf("%v answer, %v", hosts, failed)
	}
	broken := newSink()
	broken.handle = func(context.Context, int) error { return bus.Errorf(http.StatusConflict, "no stock") }
	stock := b.Connect("stock.example")
	subscribe(t, stock, broken)
	hosts, failed := outcomes()
	if !slices.Equal(hosts, []string{"mailer.example", "stock.example"}) || len(failed) != 1 || bus.StatusOf(failed[0]) != http.StatusConflict {
		t.Errorf("%v answer, %v", hosts, failed)
	}
	if err := stock.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if hosts, failed := outcomes(); !slices.Equal(hosts, []string{"mailer.example"}) || len(failed) != 0 {
		t.Errorf("%v answer, %v", hosts, failed)
	}
}
