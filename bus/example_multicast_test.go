package bus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// Sensor measures in one room.
type Sensor struct{ room string }

// Measure returns the degrees in the room.
func (s Sensor) Measure() (room string, celsius int) { return s.room, 21 }

// Each of two instances answers. Nothing is sent before the range.
func ExampleConn_Publish() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	connect := func(host string) *bus.Conn {
		conn, err := bus.Connect(ctx, host, bus.WithBroker(embedded))
		if err != nil {
			log.Fatal(err)
		}
		return conn
	}
	hall, attic, client := connect("sensor.example"), connect("sensor.example"), connect("client.example")
	defer func() { _ = errors.Join(hall.Close(ctx), attic.Close(ctx), client.Close(ctx)) }()
	if err := bus.Serve(hall, Sensor{"hall"}, bus.NoQueue()); err != nil { // with a queue one of them would answer
		log.Fatal(err)
	}
	if err := bus.Serve(attic, Sensor{"attic"}, bus.NoQueue()); err != nil {
		log.Fatal(err)
	}

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://sensor.example/measure", http.NoBody)
	if err != nil {
		log.Fatal(err)
	}
	var answers []string
	for response, err := range client.Multicast(request) {
		if err != nil { // of one instance; the others still answer
			log.Print(err)
			continue
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		answers = append(answers, string(body))
	}
	slices.Sort(answers) // they come in any order
	fmt.Println(answers)
	// Output: [{"room":"attic","celsius":21} {"room":"hall","celsius":21}]
}

// The same with types.
func ExampleOperation_Multicast() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	connect := func(host string) *bus.Conn {
		conn, err := bus.Connect(ctx, host, bus.WithBroker(embedded))
		if err != nil {
			log.Fatal(err)
		}
		return conn
	}
	hall, attic, client := connect("sensor.example"), connect("sensor.example"), connect("client.example")
	defer func() { _ = errors.Join(hall.Close(ctx), attic.Close(ctx), client.Close(ctx)) }()
	if err := bus.Serve(hall, Sensor{"hall"}, bus.NoQueue()); err != nil {
		log.Fatal(err)
	}
	if err := bus.Serve(attic, Sensor{"attic"}, bus.NoQueue()); err != nil {
		log.Fatal(err)
	}

	type results struct {
		Room    string `json:"room"`
		Celsius int    `json:"celsius"`
	}
	measure := bus.NewOperation[struct{}, results](client, "GET https://sensor.example/measure")
	celsius := make(map[string]int)
	for response, err := range measure.Multicast(ctx, struct{}{}) {
		if err != nil {
			log.Print(response.Host, response.ID, err)
			continue
		}
		celsius[response.Results.Room] = response.Results.Celsius
	}
	fmt.Println(celsius)
	// Output: map[attic:21 hall:21]
}
