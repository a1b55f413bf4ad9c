// Package batch combines many messages into one write: it has a [net.Conn] that collects writes while other goroutines are
// about to write, too, and a dialer that makes such connections for nats.go.
//
//	dialer := &batch.Dialer{Timeout: 2 * time.Second}
//	conn, err := nats.Connect(url, nats.SetCustomDialer(dialer), nats.SkipHostLookup())
//
// Under load most of the cost of a message is the system call that sends it. nats.go collects messages as well, but its
// flusher runs as soon as there is one, and takes the lock that the next publisher needs. This package does it so:
//
//	publisher ─┐
//	publisher ─┼─> nats.go ──Write──> buffer ──> one goroutine ──> socket
//	publisher ─┘                                 lets the others go first, then writes the whole buffer
//
// If no other goroutine is waiting to write, a message is sent as soon as without this package: letting others go first
// costs nothing if there are none.
//
// nats.go does TLS and websockets above the connection that the dialer makes, so their writes are collected, too, after
// encryption.
package batch
