// Trouble puts the service of troublesvc on the bus: it goes wrong on demand.
//
// Start a bus in one terminal and the service in another, and get into trouble in a third:
//
//	go run ./examples/showcase
//	go run ./examples/trouble
//	curl 'localhost:8080/trouble.example/sleep?ms=100'
//	curl -H 'Request-Timeout: 1' 'localhost:8080/trouble.example/sleep?ms=5000'
//	curl localhost:8080/trouble.example/panic
//
// The first prints {"slept":100}; the second, after a second, a problem with the status 504; the third a problem with
// the status 500, whose cause is only in the log of the service.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/examples/trouble/troubleapi"
	"github.com/busline/busline/examples/trouble/troublesvc"
)

func main() {
	if err := bus.Run(context.Background(), troubleapi.Host, serve, bus.WithVersion("1"), trace.Record()); err != nil {
		log.Fatal(err)
	}
}

func serve(_ context.Context, conn *bus.Conn) error {
	if err := troublesvc.Serve(conn); err != nil {
		return err
	}
	fmt.Println(troubleapi.Host, "is on the bus; Ctrl-C takes it off")
	return nil
}
