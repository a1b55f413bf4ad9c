package msgsvc

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"

	"github.com/busline/busline/bus"
)

// source gives the endpoints their names and descriptions in every kind of build.
//
//go:embed service.go home.go cachepages.go replica.go
var source embed.FS

// Service shows how calls find their way among the instances of a host, and keeps a cache that they share.
type Service struct {
	conn  *bus.Conn
	cache cache
}

// New serves an instance of the messaging service on the host of conn. It is live when New returns. To stop it, close
// the service first and conn after it.
func New(ctx context.Context, conn *bus.Conn, options ...Option) (*Service, error) {
	if conn == nil {
		return nil, errors.New("messaging cannot be served without a connection")
	}
	config, err := newConfig(options)
	if err != nil {
		return nil, fmt.Errorf("messaging on %s: %w", conn.Host(), err)
	}
	opened, err := config.openCache(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("messaging on %s: %w", conn.Host(), err)
	}
	service := &Service{conn: conn, cache: opened}
	get := bus.HTTPMethod(http.MethodGet)
	err = bus.Serve(conn, service, bus.SourceFS(source), bus.ExcludeMethods("Close"),
		bus.Method("Home", get),
		bus.Method("DefaultQueue", get),
		bus.Method("NoQueue", get, bus.NoQueue()),
		bus.Method("CacheStore", get),
		bus.Method("CacheLoad", get),
	)
	if err != nil {
		return nil, errors.Join(err, opened.Close(ctx)) // so that nobody hands entries over to it
	}
	return service, nil
}

// Close hands this instance's part of the cache over to the other instances, within ctx. The endpoints stay live until
// the connection is closed, which comes next; what is stored through them meanwhile is handed over, too. The error says
// how many entries were lost; if nobody was left to take them, that is no error. Calling Close again does nothing.
func (s *Service) Close(ctx context.Context) error { return s.cache.Close(ctx) }

// DefaultQueue is served on the host's queue: one instance answers each request.
func (s *Service) DefaultQueue(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "DefaultQueue %s\n", s.conn.ID())
}

// NoQueue is served without a queue: every instance answers each request.
func (s *Service) NoQueue(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "NoQueue %s\n", s.conn.ID())
}

// writeText answers with plain text, which a browser is told to take as nothing else: some of it comes from
// whoever asks.
func writeText(w http.ResponseWriter, format string, arguments ...any) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, err := fmt.Fprintf(w, format, arguments...)
	return err
}
