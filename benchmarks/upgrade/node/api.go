package main

import (
	"context"
	"iter"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/portal/ingress"
)

// This file and numbers.go are what differs between versions: those of testdata take their place in older ones.

func call(ctx context.Context, conn *bus.Conn, address string, arguments, results any) error {
	return conn.Call(ctx, address, arguments, results)
}

func multicast(conn *bus.Conn, r *http.Request) iter.Seq2[*http.Response, error] {
	return conn.Multicast(r)
}

func publish(ctx context.Context, conn *bus.Conn, address string, arguments any) error {
	return events.Publish(ctx, conn, address, arguments)
}

func subscribe(conn *bus.Conn, publisher string, to *greetings) error {
	return events.Subscribe(conn, publisher, to)
}

func listen(conn *bus.Conn) (server, error) {
	handler, err := ingress.New(conn)
	if err != nil {
		return nil, err
	}
	return ingress.Listen(handler, ingress.WithAddress("127.0.0.1:0"))
}
