package main

import (
	"context"
	"iter"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
)

func call(ctx context.Context, conn *bus.Conn, address string, arguments, results any) error {
	return bus.Call(ctx, conn, address, arguments, results)
}

func multicast(conn *bus.Conn, r *http.Request) iter.Seq2[*http.Response, error] {
	return conn.Publish(r)
}

func publish(ctx context.Context, conn *bus.Conn, address string, arguments any) error {
	return bus.Fire(ctx, conn, address, arguments)
}

func subscribe(conn *bus.Conn, publisher string, to *greetings) error {
	return bus.Subscribe(conn, publisher, to)
}

func listen(conn *bus.Conn) (server, error) {
	handler, err := portal.NewIngress(conn)
	if err != nil {
		return nil, err
	}
	return portal.Listen(handler, portal.WithAddress("127.0.0.1:0"))
}
