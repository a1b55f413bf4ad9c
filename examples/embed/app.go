package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	gracePeriod   = 25 * time.Second // for the requests in flight when the app is stopped
	headerTimeout = 5 * time.Second  // for the header of a request to arrive

	lentSubject = "library.lent" // an event on NATS, that has nothing to do with Busline
)

// settings is what the app is started with.
type settings struct {
	natsURL string
	address string // to listen on
	logger  *slog.Logger
	nats    []nats.Option // that a test adds
}

// app is the app as it was before.
type app struct {
	logger   *slog.Logger
	listener net.Listener
	mux      *http.ServeMux
	nats     *nats.Conn
	closed   chan struct{} // by the callback of the NATS connection, when that is closed

	shelf  *Shelf
	client *http.Client // for calls to others
	api    http.Handler // the chi router
	loans  atomic.Int64 // events that came over NATS
}

func openApp(with settings) (*app, error) {
	a := &app{logger: with.logger, mux: http.NewServeMux(), closed: make(chan struct{}), client: new(http.Client)}
	if err := a.dial(with.natsURL, with.nats); err != nil {
		return nil, err
	}
	if _, err := a.nats.Subscribe(lentSubject, func(*nats.Msg) { a.loans.Add(1) }); err != nil {
		return nil, errors.Join(err, a.close())
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", with.address)
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.listener = listener
	a.shelf = newShelf(func(id string) error { return a.nats.Publish(lentSubject, []byte(id)) })
	a.api = newRouter(a.logger, a.shelf, fines{a.client})
	a.mux.HandleFunc("GET /{$}", a.home)
	a.mux.Handle("/api/", a.api)
	return a, nil
}

// dial opens the NATS connection, with callbacks.
func (a *app) dial(url string, more []nats.Option) (err error) {
	options := []nats.Option{
		nats.Name("library"),
		nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1), // Busline: a request goes out now or not at all
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { a.logger.Info("NATS is gone", "error", err) }),
		nats.ReconnectHandler(func(*nats.Conn) { a.logger.Info("NATS is back") }),
		nats.ClosedHandler(func(*nats.Conn) { close(a.closed) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { a.logger.Error("NATS", "error", err) }),
	}
	a.nats, err = nats.Connect(url, append(options, more...)...)
	return err
}

// home shows what the library has.
func (a *app) home(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(w, "The library has %d books, and lent %d since it was opened.\n", len(a.shelf.Books()), a.loans.Load())
}

// url returns where the app is found.
func (a *app) url() string { return "http://" + a.listener.Addr().String() }

// serve answers requests until ctx ends and those in flight are answered.
func (a *app) serve(ctx context.Context) error {
	server := &http.Server{
		Handler:           a.mux,
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          slog.NewLogLogger(a.logger.Handler(), slog.LevelWarn),
	}
	var failure error
	served := make(chan struct{})
	go func() {
		defer close(served)
		failure = server.Serve(a.listener)
	}()
	select {
	case <-served:
		return failure
	case <-ctx.Done():
	}
	a.logger.Info("stopping")
	defer func() { <-served }()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), gracePeriod)
	defer cancel()
	return server.Shutdown(grace)
}

// close closes what was opened. Events that have arrived are counted first.
func (a *app) close() error {
	if a.listener != nil {
		_ = a.listener.Close() // the server may have done it
	}
	if err := a.nats.Drain(); err != nil {
		a.nats.Close()
	}
	<-a.closed
	return nil
}
