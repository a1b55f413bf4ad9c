package main

import (
	"context"
	"io"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/ingress"
)

// Run is run with the broker at the URL, or without one a broker at an address.
func Run(ctx context.Context, stdout io.Writer, brokerURL, brokerAddress string, connect ...bus.ConnectOption) error {
	return run(ctx, stdout, settings{
		brokerURL:     brokerURL,
		brokerAddress: brokerAddress,
		connect:       connect,
		listen:        []ingress.ServerOption{ingress.WithAddress("127.0.0.1:0")},
	})
}
