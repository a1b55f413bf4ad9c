package bus_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// Tickets sells tickets.
type Tickets struct{}

// Create answers 201 with the place where the ticket can be had, and greets in the language of who asks.
func (Tickets) Create(ctx context.Context, httpRequestBody struct{}) (greeting string, httpStatusCode int) {
	bus.SetResponseHeader(ctx, "Location", "/tickets/17")
	if bus.RequestHeader(ctx).Get("Accept-Language") == "eo" {
		return "Saluton", http.StatusCreated
	}
	return "Hello", http.StatusCreated
}

// A function can read the header of its request, and set fields of its response.
func ExampleSetResponseHeader() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := bus.Connect(ctx, "tickets.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := bus.Serve(conn, Tickets{}); err != nil {
		log.Fatal(err)
	}

	client := http.Client{Transport: conn}
	response, err := client.Post("https://tickets.example/tickets", "application/json", nil)
	if err != nil {
		log.Fatal(err)
	}
	_ = response.Body.Close()
	fmt.Println(response.Status, response.Header.Get("Location"))
	// Output:
	// 201 Created /tickets/17
}

// Calls carry the header fields of their context, those of generated clients too.
func ExampleWithOutgoingHeader() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := bus.Connect(ctx, "tickets.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := bus.Serve(conn, Tickets{}); err != nil {
		log.Fatal(err)
	}

	inEsperanto := bus.WithOutgoingHeader(ctx, "Accept-Language", "eo")
	var out struct{ Greeting string }
	if err := conn.Call(inEsperanto, "https://tickets.example/tickets", nil, &out); err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Greeting)
	// Output:
	// Saluton
}

// A call that returns only results, as those of generated clients do, has the header of the response written to a
// variable. So does a method that is tested by calling it.
func ExampleCaptureResponseHeader() {
	ctx := context.Background()
	var header http.Header
	ctx = bus.CaptureResponseHeader(ctx, &header)

	_, status := Tickets{}.Create(ctx, struct{}{})
	fmt.Println(status, header.Get("Location"))
	// Output:
	// 201 /tickets/17
}
