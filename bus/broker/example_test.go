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

// With Listen other processes can connect, too.
func ExampleListen() {
	embedded, err := broker.Start(broker.Listen("127.0.0.1:0")) // 0 is any free port
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := nats.Connect(embedded.URL())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Println(conn.Status())
	// Output: CONNECTED
}
