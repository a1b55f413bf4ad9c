// Package testbroker marks the broker of a test, which gives way to another one that the code under test asks for. It is internal:
// of two brokers that a program names, neither is the one to be dropped without a word.
package testbroker

import "net"

// Broker is what it has in common with every broker in the process.
type Broker interface {
	InProcessConn() (net.Conn, error)
}

// Yielding is the broker of a test. Only what is in it is used.
type Yielding struct{ Broker }
