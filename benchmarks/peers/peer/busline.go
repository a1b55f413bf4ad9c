package peer

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/benchmarks/peers/rounds"
	"github.com/busline/busline/bus"
)

const buslineHost = "calculator.example"

// buslineService is the service for Busline.
type buslineService struct{}

// Add returns the sum of x and y.
func (buslineService) Add(x, y int) (sum int) { return x + y }

// Echo returns the text.
func (buslineService) Echo(text string) (echo string) { return text }

// startBusline is a service at a broker: service and caller each have a connection to it, as in two processes.
func startBusline(ctx context.Context, broker string, setup *rounds.Setup) (string, error) {
	return broker, serveBusline(ctx, setup, bus.WithURL(broker), bus.WithoutSharing())
}

// startBuslineBounded is the same with a limit that an overload reaches.
func startBuslineBounded(ctx context.Context, broker string, setup *rounds.Setup) (string, error) {
	return broker, serveBusline(ctx, setup, bus.WithURL(broker), bus.WithoutSharing(),
		bus.WithMaxHandlers(boundedHandlers))
}

// startBuslineWaiting is a service whose handlers wait, as for a database, and whose limit they reach before the
// processor is busy.
func startBuslineWaiting(ctx context.Context, broker string, setup *rounds.Setup) (string, error) {
	server, err := connectBusline(ctx, setup, buslineHost,
		[]bus.ConnectOption{bus.WithURL(broker), bus.WithoutSharing(), bus.WithMaxHandlers(waitingHandlers)})
	if err != nil {
		return "", err
	}
	return broker, bus.Serve(server, buslineWaiting{})
}

// buslineWaiting is a service for Busline that waits.
type buslineWaiting struct{}

// Add returns the sum of x and y after a while.
func (buslineWaiting) Add(ctx context.Context, x, y int) (sum int, err error) {
	select {
	case <-time.After(waitingTime):
		return x + y, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func dialBusline(ctx context.Context, broker string, setup *rounds.Setup) (client, error) {
	caller, err := connectBusline(ctx, setup, "caller.example",
		[]bus.ConnectOption{bus.WithURL(broker), bus.WithoutSharing()})
	if err != nil {
		return client{}, err
	}
	return buslineClient(caller), nil
}

// dialShortCircuit is Busline within a process: calls bypass the broker.
func dialShortCircuit(ctx context.Context, _ string, setup *rounds.Setup) (client, error) {
	embedded, err := embedBroker(setup)
	if err != nil {
		return client{}, err
	}
	if err := serveBusline(ctx, setup, bus.WithBroker(embedded)); err != nil {
		return client{}, err
	}
	caller, err := connectBusline(ctx, setup, "caller.example", []bus.ConnectOption{bus.WithBroker(embedded)})
	if err != nil {
		return client{}, err
	}
	return buslineClient(caller), nil
}

func serveBusline(ctx context.Context, setup *rounds.Setup, options ...bus.ConnectOption) error {
	server, err := connectBusline(ctx, setup, buslineHost, options)
	if err != nil {
		return err
	}
	return bus.Serve(server, buslineService{})
}

// connectBusline connects with all defaults, except that start and end are not logged.
func connectBusline(ctx context.Context, setup *rounds.Setup, host string,
	options []bus.ConnectOption) (*bus.Conn, error) {
	conn, err := bus.Connect(ctx, host, append([]bus.ConnectOption{bus.WithLogger(zerolog.Nop())}, options...)...)
	if err != nil {
		return nil, err
	}
	setup.Cleanup(func() { _ = conn.Close(context.Background()) }) // nothing is running any more
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
