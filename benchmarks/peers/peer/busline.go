package peer

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/busline/busline/benchmarks/peers/rounds"
	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

const buslineHost = "calculator.example"

// buslineService is the service for Busline.
type buslineService struct{}

// Add returns the sum of x and y.
func (buslineService) Add(x, y int) (sum int) { return x + y }

// Echo returns the text.
func (buslineService) Echo(text string) (echo string) { return text }

// startBusline is Busline through a NATS server: service and caller each have a connection to it, as in two processes.
func startBusline(ctx context.Context, cleanup *rounds.Cleanup) (client, error) {
	url, err := startBroker(cleanup)
	if err != nil {
		return client{}, err
	}
	return serveBusline(ctx, cleanup, bus.WithURL(url), bus.WithoutSharing())
}

// startShortCircuit is Busline within a process: calls bypass the broker.
func startShortCircuit(ctx context.Context, cleanup *rounds.Cleanup) (client, error) {
	embedded, err := broker.Start()
	if err != nil {
		return client{}, err
	}
	cleanup.Add(embedded.Close)
	return serveBusline(ctx, cleanup, bus.WithBroker(embedded))
}

func serveBusline(ctx context.Context, cleanup *rounds.Cleanup, options ...bus.ConnectOption) (client, error) {
	server, err := connectBusline(ctx, cleanup, buslineHost, options)
	if err != nil {
		return client{}, err
	}
	if err := bus.Serve(server, buslineService{}); err != nil {
		return client{}, err
	}
	caller, err := connectBusline(ctx, cleanup, "caller.example", options)
	if err != nil {
		return client{}, err
	}
	return buslineClient(caller), nil
}

// connectBusline connects with all defaults, except that start and end are not logged.
func connectBusline(ctx context.Context, cleanup *rounds.Cleanup, host string, options []bus.ConnectOption) (*bus.Conn, error) {
	conn, err := bus.Connect(ctx, host, append([]bus.ConnectOption{bus.WithLogger(zerolog.Nop())}, options...)...)
	if err != nil {
		return nil, err
	}
	cleanup.Add(func() { _ = conn.Close(context.Background()) }) // nothing is running any more
	return conn, nil
}

func addOperation(conn *bus.Conn) bus.Operation[addRequest, addResponse] {
	return bus.NewOperation[addRequest, addResponse](conn, "POST https://"+buslineHost+"/add")
}

// buslineClient calls like generated clients.
func buslineClient(conn *bus.Conn) client {
	adder := addOperation(conn)
	echoer := bus.NewOperation[echoRequest, echoResponse](conn, "POST https://"+buslineHost+"/echo")
	return client{
		add: func(ctx context.Context, x, y int) (int, error) {
			response, err := adder.Call(ctx, addRequest{X: x, Y: y})
			return response.Results.Sum, err
		},
		echo: func(ctx context.Context, text string) (string, error) {
			response, err := echoer.Call(ctx, echoRequest{Text: text})
			return response.Results.Echo, err
		},
	}
}
