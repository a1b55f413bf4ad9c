package peer

import (
	"context"
	"net/http"
	"time"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// listenHTTP serves a handler on loopback TCP, and returns its address.
func listenHTTP(ctx context.Context, setup *rounds.Setup, handler http.Handler,
	protocols *http.Protocols) (base string, err error) {
	listener, err := listen(ctx)
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, Protocols: protocols, ReadHeaderTimeout: time.Minute}
	serve(setup, func() error { return server.Serve(listener) }, func() { _ = server.Close() })
	return "http://" + listener.Addr().String(), nil
}

// newTransport returns one that keeps all connections, so that no caller has to dial twice.
func newTransport(setup *rounds.Setup, protocols *http.Protocols) *http.Transport {
	transport := &http.Transport{Protocols: protocols, MaxIdleConnsPerHost: 1 << 16}
	setup.Cleanup(transport.CloseIdleConnections)
	return transport
}
