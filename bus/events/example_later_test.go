package events_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/events"
)

// openWithStore returns a connection of a service to a broker that stores, and what ends both.
func openWithStore(host string) (conn *bus.Conn, end func(), err error) {
	folder, err := os.MkdirTemp("", "events")
	if err != nil {
		return nil, nil, err
	}
	embedded, err := broker.Start(broker.JetStream(folder))
	if err != nil {
		return nil, nil, err
	}
	conn, err = bus.Connect(context.Background(), host, bus.WithBroker(embedded))
	return conn, func() {
		_ = conn.Close(context.Background())
		embedded.Close()
		_ = os.RemoveAll(folder)
	}, err
}

// A reminder comes when its time has come, unless it is canceled before.
func ExampleAfter() {
	conn, end, err := openWithStore("orders.example")
	if err != nil {
		log.Fatal(err)
	}
	defer end()
	type reminder struct {
		Number   int    `json:"number"`
		Customer string `json:"customer"`
	}
	publisher, err := events.NewPublisher(conn, "orders.example", events.Durable())
	if err != nil {
		log.Fatal(err)
	}
	mailer := Mailer{make(chan string, 1)}
	if err := events.Subscribe(conn, "orders.example", mailer, events.Durable()); err != nil {
		log.Fatal(err)
	}
	onOrdered := events.NewEvent[reminder](publisher, "/on-ordered")
	ctx := context.Background()
	if err := onOrdered.Publish(events.After(ctx, 500*time.Millisecond), reminder{7, "Ada"}); err != nil {
		log.Fatal(err)
	}
	tomorrow := events.At(events.WithID(ctx, "order-8"), time.Now().AddDate(0, 0, 1))
	if err := onOrdered.Publish(tomorrow, reminder{8, "Bob"}); err != nil {
		log.Fatal(err)
	}
	if err := onOrdered.Cancel(ctx, "order-8"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-mailer.sent)
	// Output: Thank you for order 7, Ada!
}

// A schedule is for all instances of a service: one of them handles each tick.
func ExampleEvery() {
	conn, end, err := openWithStore("reports.example")
	if err != nil {
		log.Fatal(err)
	}
	defer end()
	report := func(_ context.Context, tick events.Tick) error {
		fmt.Println("the report of", tick.Time, "after", tick.Missed, "that were missed")
		return nil
	}
	err = events.Every(conn, "/on-nightly", "TZ=Europe/Berlin 0 3 * * *", report, bus.TimeBudget(time.Hour))
	fmt.Println(err)
	err = events.Every(conn, "/on-hourly", "0 * * *", report)
	fmt.Println(err != nil)
	// Output:
	// <nil>
	// true
}
