package bustest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus"
)

// pingTimeout bounds the search for open connections, in virtual time.
const pingTimeout = time.Minute

// openHosts returns the hosts of the connections that the test has opened itself and not closed. It pings them over the
// bus, but only if the broker has clients, so that a test that has closed everything is not delayed.
func (b *Bus) openHosts(quiet *quietBroker) (hosts []string) {
	if quiet.clients.Load() == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	conn, err := bus.Connect(ctx, "bustest", b.Options()...)
	if err != nil {
		b.t.Logf("bustest: cannot find out which connections are open: %v", err)
		return nil
	}
	ping := bus.NewOperation[struct{}, struct{}](conn, "GET https://all:888/ping")
	for response, err := range ping.Multicast(ctx, struct{}{}) {
		switch {
		case err != nil:
			b.t.Logf("bustest: an open connection does not answer: %v", err)
		case response.ID != conn.ID():
			hosts = append(hosts, response.Host)
		}
	}
	if err := conn.Close(ctx); err != nil {
		b.t.Logf("bustest: %v", err)
	}
	slices.Sort(hosts)
	return counted(hosts)
}

// counted formats several connections of one host as "a.example (3 of them)". The hosts are sorted.
func counted(hosts []string) (formatted []string) {
	for len(hosts) > 0 {
		host := hosts[0]
		n := len(hosts)
		if i := slices.IndexFunc(hosts, func(other string) bool { return other != host }); i >= 0 {
			n = i
		}
		if hosts = hosts[n:]; n > 1 {
			host = fmt.Sprintf("%s (%d of them)", host, n)
		}
		formatted = append(formatted, host)
	}
	return formatted
}

// InProcessConn counts the connected clients.
func (b *quietBroker) InProcessConn() (net.Conn, error) {
	conn, err := b.Broker.InProcessConn()
	if err != nil {
		return nil, err
	}
	b.clients.Add(1)
	return &countedConn{Conn: conn, clients: &b.clients}, nil
}

// countedConn is a client's connection that counts as open until it is closed.
type countedConn struct {
	net.Conn

	clients *atomic.Int64
	once    sync.Once
}

// Close ends the connection.
func (c *countedConn) Close() error {
	c.once.Do(func() { c.clients.Add(-1) })
	return c.Conn.Close()
}
