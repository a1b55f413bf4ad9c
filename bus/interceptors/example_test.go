package interceptors_test

import (
	"context"
	"fmt"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/interceptors"
)

// Shop has few customers.
type Shop struct{}

// Open reports whether the shop is open.
func (Shop) Open() (open bool) { return true }

func Example() {
	ctx := context.Background()
	started, err := broker.Start()
	if err != nil {
		panic(err)
	}
	defer started.Close()
	option := bus.WithInterceptors(interceptors.Retry(), interceptors.CircuitBreaker())
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
