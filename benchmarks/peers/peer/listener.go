package peer

import (
	"context"
	"net"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// listen listens on a free port of loopback TCP.
func listen(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}

// serve runs a server until setup is undone, and waits for its end.
func serve(setup *rounds.Setup, run func() error, stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = run() // returns an error when it is stopped
	}()
	setup.Cleanup(func() {
		stop()
		<-ended
	})
}
