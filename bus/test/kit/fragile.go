package kit

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/natsconn"
)

// WatchedBroker shows what is written to a broker.
type WatchedBroker struct {
	nats.InProcessConnProvider
	Look atomic.Pointer[func(written []byte)]
}

// InProcessConn returns a connection that shows what is written to it.
func (b *WatchedBroker) InProcessConn() (net.Conn, error) {
	conn, err := b.InProcessConnProvider.InProcessConn()
	return &watchedConn{conn, b}, err
}

type watchedConn struct {
	net.Conn
	broker *WatchedBroker
}

func (c *watchedConn) Write(bytes []byte) (int, error) {
	if look := c.broker.Look.Load(); look != nil {
		(*look)(bytes)
	}
	return c.Conn.Write(bytes)
}

// Unreachable is a broker that does not answer, and counts who connects.
type Unreachable struct{ Tried chan struct{} }

// NewUnreachable returns one that no caller has tried yet.
func NewUnreachable() *Unreachable { return &Unreachable{make(chan struct{}, 1)} }

// InProcessConn fails.
func (u *Unreachable) InProcessConn() (net.Conn, error) {
	select {
	case u.Tried <- struct{}{}:
	default:
	}
	return nil, ErrOutOfReach()
}

// ErrOutOfReach is how a connection to a broker fails that is out of reach.
func ErrOutOfReach() error { return &net.OpError{Op: "dial", Err: errors.New("out of reach")} }

// Fragile is a broker that a connection can be cut off from. It is quiet whenever the clock of a bubble moves.
type Fragile struct {
	nats.InProcessConnProvider

	mu    sync.Mutex // protects all below
	away  bool
	conns []net.Conn
}

// AwaitQuiet waits until the clock moves.
func (f *Fragile) AwaitQuiet(context.Context) error {
	time.Sleep(7 * time.Nanosecond)
	return nil
}

// InProcessConn connects, unless the broker is away.
func (f *Fragile) InProcessConn() (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return nil, natsconn.ErrOutOfReach()
	}
	conn, err := f.InProcessConnProvider.InProcessConn()
	f.conns = append(f.conns, conn)
	return conn, err
}

// Cut ends all connections. From now on there are others, or there are none.
func (f *Fragile) Cut(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
	for _, conn := range f.conns {
		_ = conn.Close()
	}
	f.conns = nil
}

// Move has those who connect from now on come to another broker.
func (f *Fragile) Move(to nats.InProcessConnProvider) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.InProcessConnProvider = to
}

// Leave refuses new connections until Come. Existing ones stay.
func (f *Fragile) Leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = true
}

// Come lets new connections in again.
func (f *Fragile) Come() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = false
}

// ConnectFragile connects by a way of its own.
func (b *Bubble) ConnectFragile(host string) (*bus.Conn, *Fragile) {
	b.T.Helper()
	way := &Fragile{InProcessConnProvider: b.Broker()}
	return b.Connect(host, bus.WithBroker(way)), way
}

// ServeSlow serves GET /slow and, on all instances, GET /all: they take the time that the query tells.
func ServeSlow(t *testing.T, conn *bus.Conn) {
	t.Helper()
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		took, err := time.ParseDuration(r.URL.Query().Get("for"))
		assert.NoError(t, err)
		time.Sleep(took)
		w.WriteHeader(http.StatusNoContent)
	})
	require.NoError(t, conn.Handle("GET", "/slow", slow))
	require.NoError(t, conn.Handle("GET", "/all", slow, bus.NoQueue()))
}

// SlowURL is what ServeSlow serves on slow.example; a duration comes behind it.
const SlowURL = "GET https://slow.example/slow?for="

// FreeAddress returns an address at which nothing listens.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}
