package ingress

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// defaultConnections is how many connections a server has at a time. Each costs some 40 KiB while its request is
// carried.
const defaultConnections = 1024

// leastWait is how long a connection has at least waited for its client when it makes place for another client that has
// more.
const leastWait = time.Second

// connections bounds the connections of a server, and counts the heads that they send. It is safe for concurrent use.
type connections struct {
	limit   int
	heads   *inFlight
	logger  zerolog.Logger
	cutOffs cutOffLog

	mu      sync.Mutex // protects all below, and the same part of each connection
	open    map[*connection]struct{}
	clients map[netip.Addr]int // how many connections each has
}

// connection is a connection of a server. Reading a head for which there is no room closes it.
type connection struct {
	net.Conn

	of     *connections
	client netip.Addr

	// protected by of.mu
	since  time.Time // of its last change
	served bool      // its request is served; else it is the client's turn

	mu     sync.Mutex // protects all below
	inBody bool       // the head was read
	read   int        // bytes of the head
	load   reservation
}

func newConnections(limit int, heads *inFlight, logger zerolog.Logger) *connections {
	return &connections{limit: limit, heads: heads, logger: logger, open: make(map[*connection]struct{}),
		clients: make(map[netip.Addr]int)}
}

// boundedListener is a listener with a bound on its connections.
type boundedListener struct {
	net.Listener

	connections *connections
}

// Accept returns the next connection that has a place.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if admitted := l.connections.admit(conn); admitted != nil {
			return admitted, nil
		}
	}
}

// admit gives a connection a place. If there is none, it closes another one for it, or returns nil and closes it.
func (c *connections) admit(conn net.Conn) *connection {
	admitted := &connection{Conn: conn, of: c, client: networkOf(conn.RemoteAddr()), load: reservation{of: c.heads}}
	var closing net.Conn
	defer func() {
		if closing != nil {
			c.closeFull(closing)
		}
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.limit {
		leaving := c.leavingLocked(admitted.client)
		if leaving == nil {
			closing = conn
			return nil
		}
		closing = leaving.Conn
		c.removeLocked(leaving)
	}
	admitted.since = time.Now()
	c.open[admitted] = struct{}{}
	c.clients[admitted.client]++
	return admitted
}

// closeFull closes a connection that makes place, or has none. It logs that ten times in 10 s at most.
func (c *connections) closeFull(closing net.Conn) {
	if leftOut, ok := c.cutOffs.admit(time.Now()); ok {
		c.logger.Warn().Stringer("client", closing.RemoteAddr()).Int("limit", c.limit).Int("leftOut", leftOut).
			Msg("a connection was closed, as there are too many; see ingress.WithMaxConnections")
	}
	_ = closing.Close()
}

// leavingLocked returns the connection that makes place for one of a client; nil if there is none. It is the one that
// has waited for its client for longest: one of the client with the most connections, else one that has waited for
// leastWait. If none waits, it is the oldest request of that client, if that is another one. So no client keeps others
// out.
func (c *connections) leavingLocked(client netip.Addr) (found *connection) {
	greediest := client
	most := c.clients[client] + 1
	for each, count := range c.clients {
		if count > most {
			greediest, most = each, count
		}
	}
	const kept = 3
	now := time.Now()
	rank := func(of *connection) int {
		switch {
		case !of.served && of.client == greediest:
			return 0
		case !of.served && now.Sub(of.since) >= leastWait:
			return 1
		case of.client == greediest && greediest != client:
			return 2
		default:
			return kept
		}
	}
	best := kept
	for each := range c.open {
		if at := rank(each); at < best || at == best && found != nil && each.since.Before(found.since) {
			found, best = each, at
		}
	}
	return found
}

// removeLocked frees the place of a connection, once.
func (c *connections) removeLocked(left *connection) {
	if _, isOpen := c.open[left]; !isOpen {
		return
	}
	delete(c.open, left)
	if c.clients[left.client]--; c.clients[left.client] == 0 {
		delete(c.clients, left.client)
	}
}

// changed notes that a connection of net/http has another state. A connection becomes active when its head was read.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	of, ok := conn.(*connection)
	if !ok || state == http.StateNew {
		return
	}
	c.mu.Lock()
	of.since, of.served = time.Now(), state != http.StateIdle
	c.mu.Unlock()

	of.mu.Lock()
	defer of.mu.Unlock()
	of.inBody, of.read = state != http.StateIdle, 0
	if of.load.held > 0 {
		of.load.release()
	}
}

// networkOf returns the address that stands for a client: its own, or the network of 64 bits of IPv6, in which it can
// choose one.
func networkOf(remote net.Addr) netip.Addr {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	const network = 64
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	if address.Is6() {
		prefix, _ := address.Prefix(network) // fails only for more bits than there are
		return prefix.Addr()
	}
	return address
}

var errHeads = errors.New("the heads of requests take all memory that they may")

// Read reads what has arrived.
func (c *connection) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	if n > 0 && !c.count(n) {
		return 0, errors.Join(errHeads, c.Close())
	}
	return n, err
}

// count counts bytes of a head, and reports whether there is room for them.
func (c *connection) count(read int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inBody {
		return true
	}
	c.read += read
	more := headCost(c.read) - c.load.held
	return more == 0 || c.load.take(more)
}

// Close closes the connection, and frees its place.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.removeLocked(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends the direction to the client: nothing more comes.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
