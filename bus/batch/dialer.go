package batch

import (
	"context"
	"math/rand/v2"
	"net"
	"time"
)

// Dialer makes connections for nats.go that collect what is written to them. Its zero value is ready to use, any
// number of goroutines may.
//
// Give it together with nats.SkipHostLookup: then it is the dialer that looks up the addresses of a name, and one
// Timeout holds for all of them together. nats.go calls it anew for every server and every attempt to reconnect.
type Dialer struct {
	// Timeout bounds one Dial, what nats.Timeout is for a connection that nats.go dials itself. The default is none.
	Timeout time.Duration
}

// Dial connects to an address such as "nats.example:4222", as nats.go would do itself: it tries the addresses of the
// name in an order of chance, each for its share of the time, and returns the last error when none answers.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	ctx := context.Background() // nats.go gives none
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

// lookUp returns the addresses behind one, at least itself: dialing then tells what is wrong with it.
func lookUp(ctx context.Context, address string) []string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || net.ParseIP(host) != nil {
		return []string{address}
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil || len(hosts) == 0 {
		return []string{address}
	}
	rand.Shuffle(len(hosts), func(i, j int) { //nolint:gosec // spreads load, and protects nothing
		hosts[i], hosts[j] = hosts[j], hosts[i]
	})
	for i := range hosts {
		hosts[i] = net.JoinHostPort(hosts[i], port)
	}
	return hosts
}
