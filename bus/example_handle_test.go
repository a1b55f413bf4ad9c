package bus_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"testing/fstest"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// Any http.Handler can be served, and any HTTP client can call it.
func ExampleConn_Handle() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := bus.Connect(ctx, "files.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()

	files := fstest.MapFS{"docs/hello.txt": {Data: []byte("Hello")}}
	if err := conn.Handle("GET", "/{path+}", http.FileServerFS(files)); err != nil {
		log.Fatal(err)
	}
	greet := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "Hi, ", r.PathValue("name")) }
	if err := conn.Handle("GET", "/greet/{name}", http.HandlerFunc(greet)); err != nil {
		log.Fatal(err)
	}

	client := http.Client{Transport: conn}
	for _, path := range []string{"docs/hello.txt", "greet/Ada", "docs/none.txt"} {
		response, err := client.Get("https://files.example/" + path)
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		fmt.Printf("%d %.9s\n", response.StatusCode, body)
	}
	// Output:
	// 200 Hello
	// 200 Hi, Ada
	// 404 404 page
}
