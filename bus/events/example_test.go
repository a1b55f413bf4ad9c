package events_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/events"
)

// Mailer handles events of orders.
type Mailer struct{ sent chan string }

// OnOrdered thanks for an order.
func (m Mailer) OnOrdered(number int, customer string) error {
	m.sent <- fmt.Sprintf("Thank you for order %d, %s!", number, customer)
	return nil
}

// A service handles the events of another one, which need not know of it. It gets them at most once, while it is there.
func ExampleSubscribe() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()

	subscriber, err := bus.Connect(ctx, "mailer.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = subscriber.Close(ctx) }()
	mailer := Mailer{make(chan string, 1)}
	if err := events.Subscribe(subscriber, "orders.example", mailer); err != nil {
		log.Fatal(err)
	}

	source, err := bus.Connect(ctx, "orders.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = source.Close(ctx) }()
	if err := events.Publish(ctx, source, "https://orders.example:417/on-ordered",
		bus.Args{"number": 7, "customer": "Ada"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-mailer.sent)
	// Output: Thank you for order 7, Ada!
}

// An event that must not be lost is stored. Both sides need Durable: the source stores, and the service gets what was
// fired since it subscribed for the first time, even while it was away.
func ExampleNewPublisher_durable() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "events")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	embedded, err := broker.Start(broker.JetStream(folder))
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()

	mailer := Mailer{make(chan string, 1)}
	subscribe := func() *bus.Conn {
		conn, err := bus.Connect(ctx, "mailer.example", bus.WithBroker(embedded))
		if err != nil {
			log.Fatal(err)
		}
		if err := events.Subscribe(conn, "orders.example", mailer, events.Durable()); err != nil {
			log.Fatal(err)
		}
		return conn
	}
	if err := subscribe().Close(ctx); err != nil { // known from now on, and away
		log.Fatal(err)
	}

	source, err := bus.Connect(ctx, "orders.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = source.Close(ctx) }()
	publisher, err := events.NewPublisher(source, "orders.example", events.Durable())
	if err != nil {
		log.Fatal(err)
	}
	type order struct {
		Number   int    `json:"number"`
		Customer string `json:"customer"`
	}
	ordered := events.NewEvent[order](publisher, "/on-ordered")
	if err := ordered.Publish(ctx, order{7, "Ada"}); err != nil { // nil: it is stored
		log.Fatal(err)
	}

	back := subscribe()
	defer func() { _ = back.Close(ctx) }()
	fmt.Println(<-mailer.sent)
	// Output: Thank you for order 7, Ada!
}
