package peer

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/benchmarks/peers/rounds"
	"github.com/busline/busline/bus/broker"
)

// startBroker runs a NATS server on loopback TCP.
func startBroker(_ context.Context, _ string, setup *rounds.Setup) (url string, err error) {
	embedded, err := embedBroker(setup, broker.Listen("127.0.0.1:0"))
	if err != nil {
		return "", err
	}
	return embedded.URL(), nil
}

// embedBroker runs a NATS server in this process, by default without a port.
func embedBroker(setup *rounds.Setup, options ...broker.Option) (*broker.Broker, error) {
	embedded, err := broker.Start(options...)
	if err != nil {
		return nil, err
	}
	setup.Cleanup(embedded.Close)
	return embedded, nil
}

// connectNATS opens a connection to a broker.
func connectNATS(url string, setup *rounds.Setup) (*nats.Conn, error) {
	conn, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	setup.Cleanup(conn.Close)
	return conn, nil
}
