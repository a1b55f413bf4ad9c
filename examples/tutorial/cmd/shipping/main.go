// Shipping is the program of shippingsvc.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/tutorial/shippingapi"
	"github.com/busline/busline/examples/tutorial/shippingsvc"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	conn, err := bus.Connect(ctx, shippingapi.Host, bus.WithVersion("1"))
	if err != nil {
		return err
	}
	if err := shippingsvc.Serve(conn); err != nil {
		return err
	}
	fmt.Println(conn.Host(), "is on the bus as", conn.ID())
	<-ctx.Done()
	return conn.Close(context.Background())
}
