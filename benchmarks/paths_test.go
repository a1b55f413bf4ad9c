package benchmarks_test

import (
	"context"
	"testing"

	"github.com/busline/busline/bus"
)

// path is one way that a call can take.
type path struct {
	name string
	open func(b *testing.B) client
	join func(b *testing.B) []bus.ConnectOption // starts the broker that its connections share; nil where there are none
	// clocked says how many calls there are to one that is timed for p50 and p99, so that the clock does not cost more
	// than a few percent; 0 for calls that take less than the clock itself.
	clocked int
}

func paths() []path {
	all := []path{{name: "plain", open: plainClient}}
	all = append(all, busPaths()...)
	return append(all, path{name: "ingress", open: ingressClient, clocked: 1})
}

// busPaths are those from one connection to another. A broker carries nothing between connections that share one.
func busPaths() []path {
	return []path{
		onBus("short-circuit", 8, func(b *testing.B) []bus.ConnectOption { return []bus.ConnectOption{startBroker(b)} }),
		onBus("in-process-broker", 1, func(b *testing.B) []bus.ConnectOption {
			return []bus.ConnectOption{startBroker(b), bus.WithoutSharing()}
		}),
		onBus("tcp-broker", 1, func(b *testing.B) []bus.ConnectOption {
			return []bus.ConnectOption{startBroker(b, overTCP()), bus.WithoutSharing()}
		}),
	}
}

func onBus(name string, clocked int, join func(b *testing.B) []bus.ConnectOption) path {
	return path{name: name, clocked: clocked, join: join,
		open: func(b *testing.B) client { return busClient(b, join(b)...) }}
}

// plainClient calls the method itself, as if there were no bus.
func plainClient(*testing.B) client {
	var impl interface {
		Add(x, y int) int
		Echo(text string) string
	} = service{}
	return client{
		add: func(_ context.Context, arguments addArguments) (addResults, error) {
			return addResults{Sum: impl.Add(arguments.X, arguments.Y)}, nil
		},
		echo: func(_ context.Context, arguments echoArguments) (echoResults, error) {
			return echoResults{Echo: impl.Echo(arguments.Text)}, nil
		},
	}
}

// busClient starts a service, and returns a client on a connection of another host.
func busClient(b *testing.B, options ...bus.ConnectOption) client {
	serve(b, connect(b, serviceHost, options...))
	return typedClient(connect(b, callerHost, options...), serviceHost)
}

// typedClient calls a host as generated clients do.
func typedClient(conn *bus.Conn, host string) client {
	add := bus.NewOperation[addArguments, addResults](conn, "POST https://"+host+"/add")
	echo := bus.NewOperation[echoArguments, echoResults](conn, "POST https://"+host+"/echo")
	return client{
		conn: conn,
		add: func(ctx context.Context, arguments addArguments) (addResults, error) {
			response, err := add.Call(ctx, arguments)
			return response.Results, err
		},
		echo: func(ctx context.Context, arguments echoArguments) (echoResults, error) {
			response, err := echo.Call(ctx, arguments)
			return response.Results, err
		},
	}
}
