package interceptors_test

import (
	"context"
	"fmt"
	"os"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/interceptors"
)

// Shop has few customers.
type Shop struct{}

// Open reports whether the shop is open.
func (Shop) Open() (open bool) { return true }

// Mailer handles events: it sends their numbers.
type Mailer chan int

// OnOrdered sends a mail.
func (m Mailer) OnOrdered(number int) error {
	m <- number
	return nil
}

// join connects to a broker of its own, with JetStream.
func join(ctx context.Context, host string) (conn *bus.Conn, leave func()) {
	directory, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	started, err := broker.Start(broker.JetStream(directory))
	if err != nil {
		panic(err)
	}
	conn, err = bus.Connect(ctx, host, bus.WithBroker(started))
	if err != nil {
		panic(err)
	}
	return conn, func() {
		_ = conn.Close(ctx) // no handler runs any more
		started.Close()
		_ = os.RemoveAll(directory)
	}
}

// Till takes money.
type Till struct{ cents int }

// Pay takes cents, and returns how many there are.
func (t *Till) Pay(cents int) (sum int) {
	t.cents += cents
	return t.cents
}

func ExampleIdempotent() {
	ctx := context.Background()
	conn, leave := join(ctx, "till.example")
	defer leave()
	once, err := interceptors.Idempotent(ctx, conn)
	if err != nil {
		panic(err)
	}
	if err := bus.Serve(conn, &Till{}, bus.Intercept(once)); err != nil {
		panic(err)
	}
	pay := interceptors.WithIdempotencyKey(ctx, "order-7")
	for range 2 {
		var results struct{ Sum int }
		if err := conn.Call(pay, "POST https://till.example/pay", bus.Args{"cents": 450}, &results); err != nil {
			panic(err)
		}
		fmt.Println(results.Sum)
	}
	// Output:
	// 450
	// 450
}

func ExampleOnce() {
	ctx := context.Background()
	conn, leave := join(ctx, "mailer.example")
	defer leave()
	once, err := interceptors.Once(ctx, conn, 0)
	if err != nil {
		panic(err)
	}
	mails := make(Mailer, 1)
	if err := events.Subscribe(conn, "orders.example", mails, events.Durable(), bus.Intercept(once)); err != nil {
		panic(err)
	}
	publisher, err := events.NewPublisher(conn, "orders.example", events.Durable())
	if err != nil {
		panic(err)
	}
	if err := events.NewEvent[bus.Args](publisher, "/on-ordered").Publish(ctx, bus.Args{"number": 7}); err != nil {
		panic(err)
	}
	fmt.Println("mail about order", <-mails)
	// Output: mail about order 7
}

func Example() {
	ctx := context.Background()
	started, err := broker.Start()
	if err != nil {
		panic(err)
	}
	defer started.Close()
	option := bus.WithInterceptors(interceptors.Retry(), interceptors.CircuitBreaker(), interceptors.Hedge())
	conn, err := bus.Connect(ctx, "shop.example", option, bus.WithBroker(started))
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close(ctx) }()                                    // no handler runs any more
	limit, err := interceptors.RateLimit(10, 20, interceptors.ByClaim("sub")) // requests a second, and at once
	if err != nil {
		panic(err)
	}
	if err := bus.Serve(conn, Shop{}, bus.Intercept(limit)); err != nil {
		panic(err)
	}
	fmt.Println(conn.Call(ctx, "https://shop.example/open", nil, nil))
	// Output: <nil>
}
