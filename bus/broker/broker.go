// Package broker runs a NATS server inside the process: for tests, for
// examples, and for programs that should start with nothing installed.
//
// By default nothing outside the process can reach it. Connections are made in
// memory, so it needs no free port and no rights:
//
//	embedded, err := broker.Start()
//	if err != nil {
//		return err
//	}
//	defer embedded.Close()
//	conn, err := nats.Connect("", nats.InProcessServer(embedded))
//
// [Listen] opens it to other processes, [JetStream] adds storage, [Config] takes
// users and their permissions, and TLS. Without users it requires no credentials.
// It writes no log, handles no signals and serves no monitoring page. For data
// that should outlive the process, or be shared by machines, run a separate NATS
// server. A program that imports this package also imports the dependencies of
// nats-server, among them expvar and net/http/pprof, which register their pages
// on http.DefaultServeMux.
//
// This is the only package that imports nats-server.
package broker

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// readyTimeout bounds the wait for a server that reported no error. The server is ready when its own Start returns, so
// the wait is not expected to take any time.
const readyTimeout = 10 * time.Second

// Broker is a running NATS server. Its methods are safe for concurrent use.
type Broker struct {
	server    *server.Server
	log       *serverLog
	url       string         // "nats://127.0.0.1:4222"; "" if it does not listen
	closing   chan struct{}  // closed by Close
	close     func()         // closes closing once
	restoring sync.WaitGroup // the goroutine of restoreJetStream
	// the first configuration of JetStream, for restoreJetStream; nil before it is needed
	jetStream *server.JetStreamConfig
}

// Start runs a broker and returns when clients can connect. Without options only [Broker.InProcessConn] reaches it, it
// stores nothing on disk, and accepts messages of up to [DefaultMaxPayload] bytes. The error names all invalid options;
// after an error nothing is left running.
func Start(options ...Option) (*Broker, error) {
	config, err := newSettings(options)
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	serverOptions, err := config.serverOptions()
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	embedded, err := server.NewServer(serverOptions)
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	log := newServerLog()
	embedded.SetLogger(log, false, false)
	embedded.Start()
	broker := &Broker{server: embedded, log: log, closing: make(chan struct{})}
	broker.close = sync.OnceFunc(func() { close(broker.closing) })
	if err := broker.awaitReady(config); err != nil {
		broker.Close()
		return nil, err
	}
	broker.url = clientURL(embedded.Addr())
	if embedded.JetStreamEnabled() {
		broker.restoring.Go(broker.restoreJetStream)
	}
	return broker, nil
}

// awaitReady returns nil when the server is ready, or the reason why it did not start.
func (b *Broker) awaitReady(config *settings) error {
	if err := b.log.first(); err != nil {
		return config.explain(err)
	}
	if !b.server.ReadyForConnections(readyTimeout) {
		return fmt.Errorf("broker: not ready after %s", readyTimeout)
	}
	return nil
}

// InProcessConn opens an in-memory connection, so that a Broker can be passed to
// [github.com/nats-io/nats.go.InProcessServer]. It returns an error once the broker is closed.
func (b *Broker) InProcessConn() (net.Conn, error) {
	conn, err := b.server.InProcessConn()
	if err != nil {
		return nil, fmt.Errorf("broker: closed: %w", err)
	}
	return conn, nil
}

// URL returns the address for clients on this machine, such as "nats://127.0.0.1:4222", or "" for a broker started
// without [Listen]. It stays the same after Close.
func (b *Broker) URL() string { return b.url }

// JetStreamEnabled reports whether [JetStream] is enabled.
func (b *Broker) JetStreamEnabled() bool { return b.server.JetStreamEnabled() }

// Close ends every connection, writes what JetStream has not yet stored, and returns when the server has stopped.
// Further calls do nothing else, and return when the server has stopped, too.
func (b *Broker) Close() {
	b.close()
	b.restoring.Wait()
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// clientURL converts the listening address to one that can be dialed: an unspecified one, [::] or 0.0.0.0, stands for
// every interface, including loopback.
func clientURL(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return "" // it does not listen
	}
	host := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		host = loopback
	}
	return "nats://" + net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}
