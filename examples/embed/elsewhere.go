package main

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

// elsewhere is what runs in other processes in real life: a broker, and the service of another team. It is here so that
// the example needs nothing installed.
type elsewhere struct {
	natsURL string
	broker  *broker.Broker
	conn    *bus.Conn // of the calculator
}

func startElsewhere(ctx context.Context) (*elsewhere, error) {
	started, err := startBroker("127.0.0.1:4222") // where services look for one
	if err != nil {
		return nil, err
	}
	conn, err := bus.Connect(ctx, "calculator.example", bus.WithBroker(started), bus.WithLogger(zerolog.Nop()))
	if err != nil {
		started.Close()
		return nil, err
	}
	e := &elsewhere{natsURL: started.URL(), broker: started, conn: conn}
	if err := calculatorsvc.Serve(conn); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// startBroker runs a broker at the address, or when that is taken at a free port.
func startBroker(address string) (*broker.Broker, error) {
	started, err := broker.Start(broker.Listen(address))
	if errors.Is(err, syscall.EADDRINUSE) {
		return broker.Start(broker.Listen("127.0.0.1:0"))
	}
	return started, err
}

func (e *elsewhere) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = e.conn.Close(ctx) // no caller is left
	e.broker.Close()
}
