// Shipping is the program of shippingsvc.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/tutorial/shippingapi"
	"github.com/busline/busline/examples/tutorial/shippingsvc"
)

func main() {
	if err := bus.Run(context.Background(), shippingapi.Host, serve, bus.WithVersion("1")); err != nil {
		log.Fatal(err)
	}
}

func serve(_ context.Context, conn *bus.Conn) error {
	if err := shippingsvc.Serve(conn); err != nil {
		return err
	}
	fmt.Println(conn.Host(), "is on the bus as", conn.ID())
	return nil
}
