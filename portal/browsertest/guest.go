package main

import (
	"context"

	"github.com/busline/busline/bus"
)

// guest is a service that comes, goes and comes back with another signature.
type guest interface{ leave() error }

type connected struct {
	conn *bus.Conn
}

func (c connected) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.conn.Close(ctx)
}

type oldGuest struct{}

// Welcome greets.
func (oldGuest) Welcome(name string) (greeting string) { return "Hello, " + name }

type newGuest struct{}

// Welcome greets, in some language.
func (newGuest) Welcome(name, language string) (greeting string) { return "Hallo, " + name + language }

// startGuest serves a guest.
func (s *stage) startGuest(serve func(*bus.Conn) error) (guest, error) {
	conn, err := bus.Connect(s.ctx, "guest.example", s.connect...)
	if err != nil {
		return nil, err
	}
	return connected{conn}, serve(conn)
}
