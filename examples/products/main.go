// Products puts the service of productsvc on the bus: a collection that is created, read, updated, deleted and
// listed, in REST style.
//
// Start a broker in one terminal, the service in a second and a third, and an ingress in a fourth:
//
//	go run github.com/nats-io/nats-server/v2@latest -js -a 127.0.0.1
//	go run ./examples/products
//	go run ./examples/products
//	BUS_NATS_URL=nats://127.0.0.1:4222 go run ./examples/showcase
//
// Each instance says where it stores products:
//
//	products.example is on the bus, kept in the JetStream bucket bus_products; Ctrl-C takes it off
//
// Then call the service; either instance may answer:
//
//	curl -i localhost:8080/products.example/products -H 'Content-Type: application/json' -d '{"name":"Tea","price":4.5}'
//	curl localhost:8080/products.example/products/1
//	curl 'localhost:8080/products.example/products?sortBy=-price&limit=3'
//
// They print, on a new broker:
//
//	HTTP/1.1 201 Created … {"id":1}
//	{"name":"Tea","price":4.5,"tags":[]}
//	[{"name":"Tea","price":4.5,"tags":[]}]
//
// A scheduler and Prometheus watch an instance that has -probes :8081.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
)

func main() {
	probes := flag.String("probes", "", "address that answers GET /-/healthy, /-/ready and /metrics, such as :8081")
	flag.Parse()
	if err := bus.Run(context.Background(), productapi.Host, serve, bus.WithVersion("1"), trace.Record(),
		bus.WithProbes(*probes)); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, conn *bus.Conn) error {
	store, err := productsvc.OpenStore(ctx, conn)
	if err != nil {
		return err
	}
	if err := productsvc.Serve(conn, store); err != nil {
		return err
	}
	fmt.Printf("%s is on the bus, kept %s; Ctrl-C takes it off\n", productapi.Host, store)
	return nil
}
