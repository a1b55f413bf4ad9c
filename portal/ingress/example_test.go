package ingress_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/portal/ingress"
)

// An application that has an HTTP server mounts the ingress there, under a prefix.
func ExampleNew() {
	embedded, err := broker.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer embedded.Close()
	conn, err := bus.Connect(context.Background(), "ingress", bus.WithBroker(embedded), bus.WithLogger(zerolog.Nop()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close(context.Background()) }()
	entrance, err := ingress.New(conn)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/bus/", http.StripPrefix("/bus", entrance))

	response := httptest.NewRecorder()
	mux.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/bus/", http.NoBody))
	fmt.Println(response.Code, response.Header().Get("Location"))
	// Output: 302 /bus/portal/
}

// Calculator is a service inside.
type Calculator struct{}

// Add returns the sum of x and y.
func (Calculator) Add(x, y int) (sum int) { return x + y }

// What is served on a public port of the bus can be called from outside, under its host.
func ExampleHandler() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	calculator, err := bus.Connect(ctx, "calculator.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = calculator.Close(ctx) }()
	if err := bus.Serve(calculator, Calculator{}); err != nil {
		log.Fatal(err)
	}

	conn, err := bus.Connect(ctx, "ingress", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	entrance, err := ingress.New(conn)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(entrance) // a program has ingress.Listen
	defer server.Close()

	response, err := http.Get(server.URL + "/calculator.example/add?x=5&y=6")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	fmt.Println(response.Status, string(body), err)
	// Output: 200 OK {"sum":11} <nil>
}
