package bus_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// Temperature converts degrees.
type Temperature struct{}

// Fahrenheit converts degrees Celsius.
func (Temperature) Fahrenheit(_ context.Context, celsius float64) (fahrenheit float64, err error) {
	if celsius < -273.15 {
		return 0, bus.Errorf(http.StatusUnprocessableEntity, "nothing is that cold")
	}
	return celsius*9/5 + 32, nil
}

// A method is served under its name, with GET and POST. The names of its arguments and results are those of its
// callers.
func ExampleServe() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := bus.Connect(ctx, "temperature.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()

	if err := bus.Serve(conn, Temperature{}); err != nil {
		log.Fatal(err)
	}

	client := http.Client{Transport: conn} // a connection may also call, even itself
	for _, celsius := range []string{"100", "-300", "warm"} {
		response, err := client.Get("https://temperature.example/fahrenheit?celsius=" + celsius)
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			fmt.Println(string(body))
		} else {
			fmt.Println(response.Status)
		}
	}
	// Output:
	// {"fahrenheit":212}
	// 422 Unprocessable Entity
	// 400 Bad Request
}
