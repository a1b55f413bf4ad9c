package bus_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

// olderEvents are those that an older version of a service knew.
type olderEvents interface {
	OnCancelled(ctx context.Context, number int, why string) error
}

// TestOlderInstancesTakeNothingAway has an instance of an older version come and go while a new one handles an event that the
// old one does not know.
func TestOlderInstancesTakeNothingAway(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := subscribe(t, b.Connect("mailer.example"), newSink(), bus.Durable())
	older := b.Connect("mailer.example")
	if err := bus.Subscribe[olderEvents](older, ordersHost, newSink(), bus.Durable()); err != nil {
		t.Fatal(err)
	}
	fire(t, ordered, 1, 2)
	mailer.await(t, 2)
	if err := older.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	fire(t, ordered, 3)
	mailer.await(t, 1)
	awaitHandled(t, b, source)
}

// TestRefusalsOfOthersAreTriedAgain has events refused that another version of a service would have taken: the one that the
// handler calls, or its own.
func TestRefusalsOfOthersAreTriedAgain(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	conn, catalog := b.Connect("mailer.example", quiet()), b.Connect("catalog.example")
	if err := catalog.Handle("GET", "/old", http.NotFoundHandler()); err != nil {
		t.Fatal(err)
	}
	mailer := newSink()
	mailer.handle = func(ctx context.Context, _ int) error {
		err := conn.Call(ctx, "GET https://catalog.example/new", nil, nil)
		if bus.StatusOf(err) == http.StatusNotFound {
			go func() {
				_ = catalog.Handle("GET", "/new", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			}()
		}
		return err
	}
	subscribe(t, conn, mailer, bus.Durable(), bus.MaxDeliver(1000), fastBackoff())
	fire(t, ordered, 1)
	mailer.await(t, 1)

	picky := subscribe(t, b.Connect("picky.example", quiet()), newSink(), bus.Durable(), bus.MaxDeliver(2), fastBackoff())
	reader := readParked(t, source)
	events, err := source.NewPublisher(ordersHost, bus.Durable())
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.NewEvent[bus.Args](events, "/on-ordered").Publish(t.Context(), bus.Args{"number": "seven"}); err != nil {
		t.Fatal(err)
	}
	message, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	if reason := message.Headers().Get("Bus-Parked-Reason"); !strings.Contains(reason, "attempt 2 was the last: 400 Bad Request: number") || len(picky.taken()) > 0 {
		t.Errorf("parked because of %q", reason)
	}
}
