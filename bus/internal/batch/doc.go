// Package batch combines many messages into one write. A [Conn] collects the writes of goroutines that write at the
// same time; a [Dialer] makes such connections for nats.go.
//
//	dialer := &batch.Dialer{Timeout: 2 * time.Second}
//	conn, err := nats.Connect(url, nats.SetCustomDialer(dialer), nats.SkipHostLookup())
//
// Under load most of the cost of a message is the system call that sends it. nats.go collects messages as well, but its
// flusher runs as soon as there is one, and takes the lock that the next publisher needs. This package works
// differently:
//
//	publisher ─┐
//	publisher ─┼─> nats.go ──Write──> buffer ──> one goroutine ──> socket
//	publisher ─┘                                 yields to the other publishers, then writes the whole buffer
//
// If no other goroutine is about to write, a message is sent as soon as without this package: yielding costs nothing
// then.
//
// nats.go does TLS and websockets above the connection that the dialer makes, so their writes are collected, too, after
// encryption.
package batch
