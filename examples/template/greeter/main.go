// Greeter puts the service of greetersvc on the bus.
package main

import (
	"context"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/examples/template/greeter/greeterapi"
	"github.com/busline/busline/examples/template/greeter/greetersvc"
)

func main() {
	if err := bus.Run(context.Background(), greeterapi.Host, serve, bus.WithVersion("1"), trace.Record()); err != nil {
		log.Fatal(err)
	}
}

func serve(_ context.Context, conn *bus.Conn) error { return greetersvc.Serve(conn) }
