package broker_test

import (
	"fmt"
	"log"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/broker"
)

func Example() {
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := nats.Connect("", nats.InProcessServer(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Println(conn.Status())
	// Output: CONNECTED
}
