package msgsvc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/msgsvc"
)

// Three instances share a cache, whichever of them is asked.
func Example() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	var stops []func() error
	for range 3 {
		conn, err := bus.Connect(ctx, "messaging.example", bus.WithBroker(embedded))
		if err != nil {
			log.Fatal(err)
		}
		service, err := msgsvc.New(ctx, conn)
		if err != nil {
			log.Fatal(err)
		}
		stops = append(stops, func() error { return errors.Join(service.Close(ctx), conn.Close(ctx)) })
	}

	caller, err := bus.Connect(ctx, "caller.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	stops = append(stops, func() error { return caller.Close(ctx) })
	browser := http.Client{Transport: caller}
	for _, path := range []string{"cache-store?key=color&value=green", "cache-load?key=color", "cache-load?key=size"} {
		response, err := browser.Get("https://messaging.example/" + path)
		if err != nil {
			log.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		name, _, _ := strings.Cut(string(text), " by ") // whichever it was
		fmt.Println(name)
	}
	for _, stop := range stops {
		if err := stop(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// key: color
	// value: green
	// Stored
	// key: color
	// found: yes
	// value: green
	// Loaded
	// key: size
	// found: no
	// Loaded
}
