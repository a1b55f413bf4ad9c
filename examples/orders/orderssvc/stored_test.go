package orderssvc_test

import (
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/examples/orders/orderssvc"
)

// TestOrderWaitsForTheMailer has the mailer away while an order is taken.
func TestOrderWaitsForTheMailer(t *testing.T) {
	t.Parallel()
	mailer := subscriber{numbers: make(chan int, 10)}
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	subscribe := func() *bus.Conn {
		conn := b.Connect("mailer.example")
		if err := events.Subscribe[ordersapi.Events](conn, ordersapi.Host, mailer, events.Durable()); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	if err := subscribe().Close(t.Context()); err != nil { // known from now on, and away
		t.Fatal(err)
	}
	publisher, err := ordersapi.NewPublisher(b.Connect(ordersapi.Host), events.Durable())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := orderssvc.New(publisher).Order(t.Context(), "Tea", 2); err != nil {
		t.Fatal(err)
	}
	subscribe()
	if number := <-mailer.numbers; number != 1 {
		t.Errorf("the mailer is told of order %d", number)
	}
}
