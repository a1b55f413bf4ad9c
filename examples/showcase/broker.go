package main

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// findBroker chooses the broker at the URL; without one it starts a broker, which lives until the end.
func (s *showcase) findBroker(url, address string) error {
	if url != "" {
		s.connectOptions = append(s.connectOptions, bus.WithURL(url))
		return nil
	}
	directory, err := os.MkdirTemp("", "busline-showcase-")
	if err != nil {
		return err
	}
	s.atEnd(func(context.Context) error { return os.RemoveAll(directory) })
	started, err := startBroker(address, directory)
	if err != nil {
		return err
	}
	s.atEnd(func(context.Context) error { started.Close(); return nil })
	s.connectOptions = append(s.connectOptions, bus.WithBroker(started))
	s.brokerURL = started.URL()
	return nil
}

// startBroker runs a broker that other processes can join: at the address, or when that is taken at a free port. It
// stores what it has to in the directory.
func startBroker(address, directory string) (*broker.Broker, error) {
	started, err := broker.Start(broker.Listen(address), broker.JetStream(directory))
	if errors.Is(err, syscall.EADDRINUSE) {
		return broker.Start(broker.Listen("127.0.0.1:0"), broker.JetStream(directory))
	}
	return started, err
}
