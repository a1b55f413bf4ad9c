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
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
	"github.com/busline/busline/portal"
)

func main() {
	address := flag.String("probes", "", "address that answers GET /-/healthy, /-/ready and /metrics, such as :8081")
	flag.Parse()
	if err := run(*address); err != nil {
		log.Fatal(err)
	}
}

func run(probesAddress string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	conn, err := bus.Connect(ctx, productapi.Host, bus.WithVersion("1"))
	if err != nil {
		return err
	}
	store, err := productsvc.OpenStore(ctx, conn)
	if err != nil {
		return err
	}
	if err := productsvc.Serve(conn, store); err != nil {
		return err
	}
	if probesAddress != "" {
		server, err := portal.Listen(probes(conn), portal.WithAddress(probesAddress))
		if err != nil {
			return err
		}
		go func() { _ = server.Serve(ctx) }() // fails only when it cuts a probe off
		fmt.Println("probes at", server.Addr())
	}
	fmt.Printf("%s is on the bus, kept %s; Ctrl-C takes it off\n", productapi.Host, store)
	<-ctx.Done()
	return conn.Close(context.Background())
}

// probes tells a scheduler and Prometheus how the service is doing.
func probes(conn *bus.Conn) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthy", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) {
		if conn.Healthy() {
			return
		}
		http.Error(w, "not ready: the log says why", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("GET /metrics", conn.ServeMetrics)
	return mux
}
