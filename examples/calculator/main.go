// Calculator puts the service of calculatorsvc on the bus: sums, in RPC style.
//
// Start a bus in one terminal and the service in another, and call it from a third:
//
//	go run ./examples/showcase
//	go run ./examples/calculator
//	curl 'localhost:8080/calculator.example/add?x=5&y=6'
//	curl 'localhost:8080/calculator.example/arithmetic' -d x=5 -d op=* -d y=6
//
// The last two print:
//
//	{"sum":11}
//	{"result":30}
//
// The showcase has a calculator, too. Both are instances of one service, and share the calls.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

func main() {
	if err := bus.Run(context.Background(), calculatorapi.Host, serve, bus.WithVersion("1"), trace.Record()); err != nil {
		log.Fatal(err)
	}
}

func serve(_ context.Context, conn *bus.Conn) error {
	if err := calculatorsvc.Serve(conn); err != nil {
		return err
	}
	fmt.Println(calculatorapi.Host, "is on the bus; Ctrl-C takes it off")
	return nil
}
