package orderssvc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/examples/orders/orderssvc"
)

// subscriber records the events that a client received.
type subscriber struct {
	numbers chan int
	failure error
}

func (e subscriber) OnOrdered(_ context.Context, number int, _ string, _ int) error {
	e.numbers <- number
	return e.failure
}

func TestHello_ReachesEachService(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	mailer, stock := subscriber{numbers: make(chan int, 10)}, subscriber{numbers: make(chan int, 10)}
	for host, sink := range map[string]subscriber{"mailer.example": mailer, "stock.example": stock} {
		for range 2 {
			if err := events.Subscribe[ordersapi.Events](b.Connect(host), ordersapi.Host, sink); err != nil {
				t.Fatal(err)
			}
		}
	}
	conn := b.Connect(ordersapi.Host)
	publisher, err := ordersapi.NewPublisher(conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Serve[ordersapi.Orders](conn, orderssvc.New(publisher)); err != nil {
		t.Fatal(err)
	}
	number, err := ordersapi.NewClient(b.Connect("caller.example")).Order(t.Context(), "Tea", 2)
	if err != nil || number != 1 || <-mailer.numbers != 1 || <-stock.numbers != 1 {
		t.Errorf("order %d, %v", number, err)
	}
}

func TestNoOrderWithoutItsEvent(t *testing.T) {
	t.Parallel()
	nobody := subscriber{make(chan int, 1), errors.New("nobody can be told")}
	if _, err := orderssvc.New(nobody).Order(t.Context(), "Tea", 2); !errors.Is(err, nobody.failure) {
		t.Errorf("taken all the same: %v", err)
	}
}

func TestEvents_StayCompatible(t *testing.T) {
	t.Parallel()
	bustest.LockEvents[ordersapi.Events](t, "testdata/events.api.json", new(ordersapi.Publisher), events.Durable())
}

func TestNames(t *testing.T) {
	t.Parallel()
	bustest.CheckNames[ordersapi.Orders](t, &orderssvc.Orders{})
	bustest.CheckNames[ordersapi.Events](t, subscriber{})
}
