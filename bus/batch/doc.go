// Package batch makes one write of many messages: a [net.Conn] that collects what is written to it while others are about
// to write, too, and a dialer that makes such connections for nats.go.
//
//	dialer := &batch.Dialer{Timeout: 2 * time.Second}
//	conn, err := nats.Connect(url, nats.SetCustomDialer(dialer), nats.SkipHostLookup())
//
// Under load most of what a message costs is the system call that sends it. nats.go gathers messages as well, but its
// flusher runs as soon as one is there, and takes the lock that the next publisher needs. Here is what happens instead:
//
//	publisher ─┐
//	publisher ─┼─> nats.go ──Write──> buffer ──> one goroutine ──> socket
//	publisher ─┘                                 lets the others go first, then writes all that is there
//
// A connection that nobody else waits for sends as soon as without this package: to let others go first costs nothing
// when there are none.
//
// nats.go does TLS and websockets above the connection that it is given, so both are collected, too, as encrypted.
package batch
