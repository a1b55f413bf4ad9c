package main

import "github.com/busline/busline/bus"

// serveNumbers serves nothing: no method streams yet.
func serveNumbers(*bus.Conn) error { return nil }
