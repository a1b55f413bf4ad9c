// Showcase runs a whole bus in one process, with nothing to install: a broker, ten services, a portal that describes
// them, and an ingress for browsers and curl.
//
//	go run ./examples/showcase
//
// When all services answer it prints:
//
//	http://127.0.0.1:8080/portal/                                          all services, described; try them there
//	http://127.0.0.1:8080/portal/openapi.json                              one OpenAPI document for all of them
//	http://127.0.0.1:8080/messaging.example/home                           calls to one of three instances, to all, and to a certain one
//	http://127.0.0.1:8080/calculator.example/add?x=5&y=6                   a function
//	http://127.0.0.1:8080/products.example/products?sortBy=price&limit=10  a REST collection, kept in the JetStream bucket bus_products
//	http://127.0.0.1:8080/payroll.example/headcount                        who may ask for more has a token; see examples/payroll
//	http://127.0.0.1:8080/payments.example/receipts                        a union, enums, and what may be missing; see examples/payments
//	http://127.0.0.1:8080/orders.example/order?item=Tea&quantity=2         an order, an event that two services get; one of them refuses large ones
//	http://127.0.0.1:8080/trouble.example/sleep?ms=100                     a slow call; what else can go wrong is there too
//	http://127.0.0.1:8080/shop/products                                    the products below a public path of their own
//	http://127.0.0.1:8080/mcp                                              the functions as tools for agents; see docs/guides/mcp.md
//	nats://127.0.0.1:4222                                                  the broker; go run ./examples/hello joins it
//	ready http://127.0.0.1:8080
//
// Ctrl-C lets the calls in flight finish first; a second one does not.
//
// BUS_HTTP_ADDR=127.0.0.1:8081 moves the ingress to another address. BUS_NATS_URL=nats://… uses a broker that is
// already running: several showcases may share one, and then share the calls, too. BUS_SHORT_CIRCUIT=0 sends every call
// over the broker.
//
//	go run ./bus/cmd/busline call --trace messaging.example/home
//
// shows a call with all calls that it causes.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/mcp"
)

// settings is what a test needs to change.
type settings struct {
	brokerURL     string                 // "" starts a broker in this process,
	brokerAddress string                 // which listens here if it can
	connect       []bus.ConnectOption    // of every connection
	listen        []ingress.ServerOption // of the HTTP server
}

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "showcase: there are no arguments: BUS_HTTP_ADDR=127.0.0.1:8081 chooses where it listens, "+
			"BUS_NATS_URL=nats://… a broker that runs already")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process
	err := run(ctx, os.Stdout, settings{
		brokerURL:     os.Getenv("BUS_NATS_URL"),
		brokerAddress: "127.0.0.1:4222", // where services look for one
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "showcase:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and leaves nothing behind.
func run(ctx context.Context, stdout io.Writer, with settings) (err error) {
	show := &showcase{connectOptions: with.connect}
	defer func() { err = errors.Join(err, show.close()) }()
	server, err := show.open(ctx, stdout, with)
	switch {
	case err == nil:
		return server.Serve(ctx)
	case ctx.Err() != nil: // stopped before all was open
		return nil
	default:
		return err
	}
}

// open opens everything, and says so.
func (s *showcase) open(ctx context.Context, stdout io.Writer, with settings) (*ingress.Server, error) {
	if err := s.findBroker(with.brokerURL, with.brokerAddress); err != nil {
		return nil, err
	}
	if err := s.startServices(ctx); err != nil {
		return nil, err
	}
	caller, err := s.connect(ctx, "ingress")
	if err != nil {
		return nil, err
	}
	if err := s.visit(ctx, caller); err != nil {
		return nil, err
	}
	tools, err := mcp.New(caller, mcp.WithEvents("*"))
	if err != nil {
		return nil, err
	}
	handler, err := ingress.New(caller, ingress.WithEvents("orders.example/*", "payments.example/*"),
		ingress.WithHandler("/mcp", tools), ingress.WithPath("/shop", "https://products.example"))
	if err != nil {
		return nil, err
	}
	server, err := ingress.Listen(handler, with.listen...)
	if err != nil {
		return nil, err
	}
	s.print(stdout, server.BaseURL(), cmp.Or(s.brokerURL, caller.NATS().ConnectedUrlRedacted()))
	return server, nil
}
