package peer

import (
	"github.com/nats-io/nats.go"

	"github.com/busline/busline/benchmarks/peers/rounds"
	"github.com/busline/busline/bus/broker"
)

// startBroker runs a NATS server on loopback TCP and returns its address.
func startBroker(cleanup *rounds.Cleanup) (url string, err error) {
	embedded, err := broker.Start(broker.Listen("127.0.0.1:0"))
	if err != nil {
		return "", err
	}
	cleanup.Add(embedded.Close)
	return embedded.URL(), nil
}

// connectNATS opens a connection to a broker.
func connectNATS(url string, cleanup *rounds.Cleanup) (*nats.Conn, error) {
	conn, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	cleanup.Add(conn.Close)
	return conn, nil
}
