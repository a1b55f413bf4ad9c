// Gateway lets HTTP onto the bus, and shows in a browser what is there.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
)

func main() {
	if err := bus.Run(context.Background(), "ingress", serve); err != nil {
		log.Fatal(err)
	}
}

// serve runs the portal beside the ingress.
func serve(ctx context.Context, door *bus.Conn) error {
	return bus.Run(ctx, "portal", func(ctx context.Context, page *bus.Conn) error {
		if err := portal.Register(page); err != nil {
			return err
		}
		handler, err := ingress.New(door)
		if err != nil {
			return err
		}
		server, err := ingress.Listen(handler)
		if err != nil {
			return err
		}
		fmt.Println("ready", server.BaseURL())
		return server.Serve(ctx)
	})
}
