package peer

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/benchmarks/peers/rounds"
	"github.com/busline/busline/bus/broker"
)

// startBroker runs a NATS server on loopback TCP.
func startBroker(_ context.Context, _ string, setup *rounds.Setup) (url string, err error) {
	embedded, err := broker.Start(broker.Listen("127.0.0.1:0"))
	if err != nil {
		return "", err
	}
	setup.Cleanup(embedded.Close)
	return embedded.URL(), nil
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
