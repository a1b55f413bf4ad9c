package bus_test

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// Geometry measures.
type Geometry struct{}

// Rectangle measures a rectangle.
func (Geometry) Rectangle(width, height int) (area, outline int) {
	return width * height, 2 * (width + height)
}

// Arguments and results go by name.
func ExampleConn_Call() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := bus.Connect(ctx, "geometry.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := bus.Serve(conn, Geometry{}); err != nil {
		log.Fatal(err)
	}

	var out struct{ Area, Outline int }
	if err := conn.Call(ctx, "https://geometry.example/rectangle", bus.Args{"width": 3, "height": 4}, &out); err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Area, out.Outline)

	// Any HTTP method may precede the address, and the result may be a map.
	var results map[string]int
	if err := conn.Call(ctx, "GET https://geometry.example/rectangle", bus.Args{"width": 5, "height": 5},
		&results); err != nil {
		log.Fatal(err)
	}
	fmt.Println(results)
	// Output:
	// 12 14
	// map[area:25 outline:20]
}

// An operation is typed, and says which instance has answered. Generated clients are made of operations.
func ExampleNewOperation() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := bus.Connect(ctx, "geometry.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := bus.Serve(conn, Geometry{}); err != nil {
		log.Fatal(err)
	}

	type arguments struct {
		Width  int `json:"width"`
		Height int `json:"height"`
	}
	type results struct {
		Area    int `json:"area"`
		Outline int `json:"outline"`
	}
	rectangle := bus.NewOperation[arguments, results](conn, "POST https://geometry.example/rectangle")
	response, err := rectangle.Call(ctx, arguments{Width: 3, Height: 4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Results.Area, response.Status, response.Host, response.ID == conn.ID())
	// Output: 12 200 geometry.example true
}
