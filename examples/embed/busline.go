package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
)

// drainTimeout is how long the calls in flight may take at the end: more than the 20 s that a call has.
const drainTimeout = 30 * time.Second

// busline is all that was added to the app.
type busline struct {
	app   *app
	conns []*bus.Conn
}

// addBusline puts the app on the bus, and the bus into the app.
func addBusline(ctx context.Context, to *app) (*busline, error) {
	added := &busline{app: to}
	for _, add := range []func(context.Context) error{added.serve, added.openDoor} {
		if err := add(ctx); err != nil {
			return nil, errors.Join(err, added.close())
		}
	}
	return added, nil
}

// serve has the app's struct and its router answer on the bus, and its client call over it.
func (b *busline) serve(ctx context.Context) error {
	conn, err := b.connect(ctx, "library.example")
	if err != nil {
		return err
	}
	if err := bus.Serve(conn, b.app.shelf); err != nil {
		return err
	}
	if err := conn.Handle("*", "/api/{path+}", b.app.api,
		bus.Description("The API of the library, as on its website.")); err != nil {
		return err
	}
	b.app.client.Transport = conn
	return nil
}

// openDoor lets HTTP onto the bus, under /bus/ of the app's mux.
func (b *busline) openDoor(ctx context.Context) error {
	page, err := b.connect(ctx, "portal")
	if err != nil {
		return err
	}
	if err := portal.Register(page); err != nil {
		return err
	}
	door, err := b.connect(ctx, "ingress")
	if err != nil {
		return err
	}
	handler, err := ingress.New(door)
	if err != nil {
		return err
	}
	b.app.mux.Handle("/bus/", http.StripPrefix("/bus", handler))
	context.AfterFunc(ctx, handler.Close) // or http.Server.Shutdown waits for streams
	return nil
}

// connect joins the bus as a host, over the app's NATS connection and with its logger.
func (b *busline) connect(ctx context.Context, host string) (*bus.Conn, error) {
	conn, err := bus.Connect(ctx, host,
		bus.WithNATS(b.app.nats),
		bus.WithSlog(b.app.logger),
	)
	if err != nil {
		return nil, err
	}
	b.conns = append(b.conns, conn)
	return conn, nil
}

// close leaves the bus, and the app as it was. It waits for the calls in flight.
func (b *busline) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	var failed []error
	for _, conn := range slices.Backward(b.conns) {
		failed = append(failed, conn.Close(ctx))
	}
	return errors.Join(failed...)
}
