// Gateway lets HTTP onto the bus, and shows in a browser what is there.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	door, err := bus.Connect(ctx, "ingress")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, door.Close(context.Background())) }()
	page, err := bus.Connect(ctx, "portal")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.Close(context.Background())) }()
	if err := portal.Register(page); err != nil {
		return err
	}
	ingress, err := portal.NewIngress(door)
	if err != nil {
		return err
	}
	server, err := portal.Listen(ingress)
	if err != nil {
		return err
	}
	fmt.Println("ready", server.BaseURL())
	return server.Serve(ctx)
}
