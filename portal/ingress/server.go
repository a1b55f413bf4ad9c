package ingress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/restmap/openapi"
)

// How long a client may take. Without such limits idle clients could exhaust a server.
const (
	headerTimeout = 5 * time.Second   // to send the header
	readTimeout   = 60 * time.Second  // to send the whole request
	writeTimeout  = 60 * time.Second  // from the end of its header until it has read the response
	idleTimeout   = 120 * time.Second // until it sends its next request
)

// maxHeadRead is more than any request may have, so that checkHeader can say which limit is exceeded. Beyond it
// net/http responds 431.
const maxHeadRead = 1 << 20

const (
	defaultAddress = "127.0.0.1:8080"
	defaultGrace   = 25 * time.Second
)

// Server serves an ingress, or any other handler, over HTTP. Make one with [Listen].
type Server struct {
	listener net.Listener
	http     *http.Server
	baseURL  string
	grace    time.Duration
	stop     context.CancelFunc // ends streams of events
}

// serverConfig is the configuration of a server: defaults, then the environment, then options.
type serverConfig struct {
	address  string
	baseURL  string
	grace    time.Duration
	http2    bool        // without TLS
	most     int         // connections at a time
	errorLog *log.Logger // of HTTP connections
}

// Listen opens the address that BUS_HTTP_ADDR names, 127.0.0.1:8080 by default. Requests wait until [Server.Serve] is
// called.
//
// A server that listens on a loopback address answers 421 to a request for any host but localhost, *.localhost and IP
// addresses, because a site can have its name resolve to that address. That ends when it has a base URL with another
// host, or when the handler is an [Handler] with trusted proxies.
func Listen(handler http.Handler, options ...ServerOption) (*Server, error) {
	config := &serverConfig{
		address:  cmp.Or(os.Getenv("BUS_HTTP_ADDR"), defaultAddress),
		baseURL:  strings.TrimSuffix(os.Getenv("BUS_BASE_URL"), "/"),
		grace:    defaultGrace,
		most:     defaultConnections,
		errorLog: log.New(io.Discard, "", 0),
	}
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("listen: %w", outside.ErrNilOption(i))
		}
		option.applyToServer(config)
	}
	if handler == nil { // net/http would serve whatever the process has registered with it, such as net/http/pprof
		return nil, errors.New("listen: the handler is nil")
	}
	if config.grace < 0 {
		return nil, fmt.Errorf("listen: the grace period %s is below zero; see ingress.WithGracePeriod", config.grace)
	}
	if config.most < 1 {
		return nil, fmt.Errorf("ingress.WithMaxConnections: %d connections are too few", config.most)
	}
	if config.errorLog == nil {
		return nil, errors.New("ingress.WithSlog: the logger is nil")
	}
	if err := openapi.CheckBaseURL(config.baseURL); err != nil {
		return nil, fmt.Errorf("base URL (BUS_BASE_URL or ingress.WithBaseURL): %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", config.address)
	if err != nil {
		return nil, fmt.Errorf("%w; set BUS_HTTP_ADDR to an address that is free, such as 127.0.0.1:8081", err)
	}
	return newServer(listener, handler, config), nil
}

func newServer(listener net.Listener, handler http.Handler, config *serverConfig) *Server {
	baseURL := cmp.Or(config.baseURL, "http://"+reachable(listener.Addr()))
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(config.http2)
	stopping, stop := context.WithCancel(context.Background())
	heads, logger := newInFlight(defaultInFlight), zerolog.Nop()
	if ingress, ok := handler.(*Handler); ok {
		heads, logger = ingress.bodies, ingress.conn.Logger()
	}
	bounded := newConnections(config.most, heads, logger)
	server := &http.Server{
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), stoppingKey{}, stopping)
		},
		Protocols:         protocols,
		Handler:           guardLoopbackHost(handler, listener.Addr(), baseURL),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeadRead,
		ErrorLog:          config.errorLog,
		ConnState:         bounded.changed,
	}
	return &Server{listener: &boundedListener{listener, bounded}, http: server, baseURL: baseURL,
		grace: config.grace, stop: stop}
}

// stoppingKey is the key of a context in that of requests, which ends when the server begins to stop. It reaches an
// ingress that any other handler wraps.
type stoppingKey struct{}

// stopping returns that context; if the server is another one, one that does not end.
func stopping(ctx context.Context) context.Context {
	if of, ok := ctx.Value(stoppingKey{}).(context.Context); ok {
		return of
	}
	return context.Background()
}

// BaseURL returns the address that people use, without a trailing slash: that of [WithBaseURL] or BUS_BASE_URL, else
// http:// and the address listened on.
func (s *Server) BaseURL() string { return s.baseURL }

// Addr returns the address listened on, with the port that the system chose for port 0.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers requests until ctx ends. Then it takes no further ones, ends streams of events, waits for those in
// flight for as long as [WithGracePeriod] allows, and returns nil if none was cut off. It closes the listener, and can
// be called only once.
func (s *Server) Serve(ctx context.Context) error {
	var failure error
	served := make(chan struct{})
	go func() {
		defer close(served)
		failure = s.http.Serve(s.listener)
	}()
	select {
	case <-served:
		return fmt.Errorf("serve %s: %w", s.listener.Addr(), failure)
	case <-ctx.Done():
	}
	defer func() { <-served }()
	s.stop()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	if err := s.http.Shutdown(grace); err != nil {
		cut := fmt.Errorf("stop %s: requests were cut off after %s: %w", s.listener.Addr(), s.grace, err)
		return errors.Join(cut, s.http.Close())
	}
	return nil
}

// reachable returns an address that clients can use: a server that listens on all addresses is reachable on this
// machine.
func reachable(listening net.Addr) string {
	if tcp, ok := listening.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	return listening.String()
}
