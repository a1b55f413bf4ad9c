package batch

import (
	"context"
	"math/rand/v2"
	"net"
	"time"
)

// Dialer dials connections for nats.go that collect writes. The zero value is ready to use and safe for concurrent use.
//
// Use it together with nats.SkipHostLookup: the dialer then looks up the addresses of a name, and one Timeout covers
// all of them. nats.go calls it for each server and each attempt to reconnect.
type Dialer struct {
	// Timeout bounds one Dial, like nats.Timeout for a connection that nats.go dials itself. Default: no timeout.
	Timeout time.Duration
}

// Dial connects to an address such as "nats.example:4222", as nats.go itself does: it tries the addresses of the name
// in random order, each for its share of the time, and returns the last error if all fail.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address) // nats.go passes no context
}

// DialContext is like Dial, and fails when ctx ends. A later end of ctx does not affect the returned connection.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	addresses := lookUp(ctx, address)
	dialer := net.Dialer{Timeout: d.Timeout / time.Duration(len(addresses))}
	var conn net.Conn
	var err error
	for _, address := range addresses {
		if conn, err = dialer.DialContext(ctx, network, address); err == nil {
			return New(conn), nil
		}
	}
	return nil, err
}

// lookUp returns the addresses of a name, or the name itself if the lookup fails: dialing then reports the error.
func lookUp(ctx context.Context, address string) []string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || net.ParseIP(host) != nil {
		return []string{address}
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil || len(hosts) == 0 {
		return []string{address}
	}
	rand.Shuffle(len(hosts), func(i, j int) { //nolint:gosec // it spreads load, and is not for security
		hosts[i], hosts[j] = hosts[j], hosts[i]
	})
	for i := range hosts {
		hosts[i] = net.JoinHostPort(hosts[i], port)
	}
	return hosts
}
