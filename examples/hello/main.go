// Hello is the shortest possible service: a struct with a method.
//
// Start a bus in one terminal and the service in another, and call it from a third:
//
//	go run ./examples/showcase
//	go run ./examples/hello
//	curl 'localhost:8080/hello.example/hello?name=Ada'
//
// The last one prints:
//
//	{"greeting":"Hello, Ada!"}
//
// and the service is listed at http://localhost:8080/portal/. It connects to the broker at BUS_NATS_URL, or at
// nats://127.0.0.1:4222, where the showcase runs one.
//
// Nothing else is needed. Busline reads the names below from this file, or from the executable if the file is not
// there.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
)

// Hello is polite.
type Hello struct{}

// Hello greets a person by name.
func (Hello) Hello(name string) (greeting string) { return "Hello, " + name + "!" }

func main() {
	if err := bus.Run(context.Background(), "hello.example", serve); err != nil {
		log.Fatal(err)
	}
}

func serve(_ context.Context, conn *bus.Conn) error {
	if err := bus.Serve(conn, Hello{}); err != nil {
		return err
	}
	fmt.Println("hello.example is on the bus; Ctrl-C takes it off")
	return nil
}
