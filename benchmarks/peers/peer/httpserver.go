package peer

import (
	"context"
	"net/http"
	"time"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// startHTTP serves a handler on loopback TCP, and returns its address and a client.
func startHTTP(ctx context.Context, cleanup *rounds.Cleanup, handler http.Handler, protocols *http.Protocols) (base string, outside *http.Client, err error) {
	listener, err := listen(ctx)
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler, Protocols: protocols, ReadHeaderTimeout: time.Minute}
	serve(cleanup, func() error { return server.Serve(listener) }, func() { _ = server.Close() })
	transport := &http.Transport{Protocols: protocols, MaxIdleConnsPerHost: 1 << 16} // so that no caller has to dial twice
	cleanup.Add(transport.CloseIdleConnections)
	return "http://" + listener.Addr().String(), &http.Client{Transport: transport}, nil
}
