package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// Library lends books.
type Library struct{}

// Lend lends a book.
func (Library) Lend(title string) error {
	return bus.Errorf(http.StatusConflict, "%s is lent already", title)
}

// An error of a handler travels with its status and its text.
func ExampleErrorf() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := bus.Connect(ctx, "library.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := bus.Serve(conn, Library{}); err != nil {
		log.Fatal(err)
	}

	err = conn.Call(ctx, "https://library.example/lend", bus.Args{"title": "Momo"}, nil)
	if failed, ok := errors.AsType[*bus.Error](err); ok {
		fmt.Println(failed.Status, failed.Detail)
		fmt.Println("from", failed.Host, "executed", failed.Executed)
	}
	// Output:
	// 409 Momo is lent already
	// from library.example executed yes
}

// If no instance is there a call fails at once, and says that it was not executed.
func ExampleError() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := bus.Connect(ctx, "client.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()

	err = conn.Call(ctx, "https://nobody.example/hello", nil, nil)
	fmt.Println(errors.Is(err, bus.ErrNoResponder))
	if failed, ok := errors.AsType[*bus.Error](err); ok {
		fmt.Println(failed.Status, "executed", failed.Executed)
	}
	// Output:
	// true
	// 503 executed no
}

// Every error has a status.
func ExampleStatusOf() {
	notFound := bus.Errorf(http.StatusNotFound, "no product 7")
	fmt.Println(bus.StatusOf(nil))
	fmt.Println(bus.StatusOf(fmt.Errorf("read the order: %w", notFound)))
	fmt.Println(bus.StatusOf(context.DeadlineExceeded))
	fmt.Println(bus.StatusOf(errors.New("disk full")))
	// Output:
	// 200
	// 404
	// 504
	// 500
}
