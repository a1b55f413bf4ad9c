package bus_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// Product is what is sold.
type Product struct {
	Name  string `json:"name"`
	Price int    `json:"price" jsonschema:"minimum=1"`
}

// Products sells.
type Products struct {
	mu  sync.Mutex // methods run concurrently
	all []Product
}

// Create adds a product. Its body is the product, and it answers 201 with {"id": …}.
func (p *Products) Create(httpRequestBody Product) (id, httpStatusCode int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, httpRequestBody)
	return len(p.all), http.StatusCreated
}

// Read returns a product, which is the whole body of the answer.
func (p *Products) Read(id int) (httpResponseBody Product, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id < 1 || id > len(p.all) {
		return Product{}, bus.Errorf(http.StatusNotFound, "no product %d", id)
	}
	return p.all[id-1], nil
}

// Methods named Create, Read, Update, Delete and List that use a magic argument (httpRequestBody, httpResponseBody,
// httpStatusCode) are served as REST: POST /products and GET /products/{id}.
func ExampleServe_rest() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	conn, err := bus.Connect(ctx, "products.example", bus.WithBroker(embedded))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()

	if err := bus.Serve(conn, new(Products)); err != nil {
		log.Fatal(err)
	}

	client := http.Client{Transport: conn}
	show := func(response *http.Response, err error) {
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode >= http.StatusBadRequest { // then it is problem+json, RFC 9457
			fmt.Println(response.Status)
			return
		}
		fmt.Println(response.Status, string(body))
	}
	show(client.Post("https://products.example/products", "application/json",
		strings.NewReader(`{"name":"tea","price":450}`)))
	show(client.Post("https://products.example/products", "application/json",
		strings.NewReader(`{"name":"air","price":0}`)))
	show(client.Get("https://products.example/products/1"))
	show(client.Get("https://products.example/products/2"))
	// Output:
	// 201 Created {"id":1}
	// 422 Unprocessable Entity
	// 200 OK {"name":"tea","price":450}
	// 404 Not Found
}
