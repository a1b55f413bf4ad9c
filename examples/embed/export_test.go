package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/nats-io/nats.go"
)

// Run is run with the broker at the URL, and any free port.
func Run(ctx context.Context, stdout io.Writer, natsURL string, logger *slog.Logger) error {
	return run(ctx, stdout, settings{natsURL: natsURL, address: "127.0.0.1:0", logger: logger})
}

// Library is an app with Busline in it, whose mux is not served yet.
type Library struct {
	app   *app
	added *busline
}

// Open opens an app, and adds Busline.
func Open(ctx context.Context, natsURL string, logger *slog.Logger, options ...nats.Option) (*Library, error) {
	opened, err := openApp(settings{natsURL: natsURL, address: "127.0.0.1:0", logger: logger, nats: options})
	if err != nil {
		return nil, err
	}
	added, err := addBusline(ctx, opened)
	if err != nil {
		return nil, errors.Join(err, opened.close())
	}
	return &Library{opened, added}, nil
}

// Mux returns the app's mux.
func (l *Library) Mux() *http.ServeMux { return l.app.mux }

// NATS returns the app's NATS connection.
func (l *Library) NATS() *nats.Conn { return l.app.nats }

// Loans returns how many of the app's events have come.
func (l *Library) Loans() int64 { return l.app.loans.Load() }

// Client returns the app's HTTP client.
func (l *Library) Client() *http.Client { return l.app.client }

// Leave takes Busline out again.
func (l *Library) Leave() error { return l.added.close() }

// Close closes the app, which has to have left.
func (l *Library) Close() error { return l.app.close() }
