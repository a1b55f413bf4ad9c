package bus

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/natsmicro"
	"github.com/busline/busline/bus/internal/server"
)

// shared is one broker connection, with what the connections of this process on it have in common. Its last user closes
// it.
type shared struct {
	broker     *natsconn.Conn // nil until it is dialled
	lines      logqueue.Queue
	local      *localRegistry
	membership *client.Membership
	spare      spare
	inflight   *server.Inflight
	httpServer http.Server         // web endpoints have it in their context: it does nothing
	tlsState   tls.ConnectionState // of the requests of web endpoints; it does not change
	services   *natsmicro.Services
	announcing chan struct{} // room for the one that announces something: see announce

	dialled chan struct{} // closed when broker, or err, is set
	err     error
	users   int // protected by links.mu
}

// links are the broker connections of this process. Sharing them is a process-wide fact, hence the only
// variable of the package: a service costs a few KiB on a shared connection, and 64 KiB and three goroutines
// on one of its own.
var links = struct { //nolint:gochecknoglobals // docs/decisions/0002
	mu   sync.Mutex
	open map[natsconn.Config]*shared
}{open: map[natsconn.Config]*shared{}}

// acquireShared returns the broker connection that the configuration asks for. The first user dials, the others wait
// for it.
func acquireShared(ctx context.Context, name string, config *connectConfig) (*shared, error) {
	ctx, cancel := context.WithTimeout(ctx, config.broker.Timeout())
	defer cancel()
	for {
		joined, first := joinShared(config)
		var err error
		if first {
			joined.dial(ctx, name, config)
		} else {
			err = joined.awaitDial(ctx)
		}
		if err == nil && joined.err == nil {
			err = joined.broker.AwaitOpen(ctx)
		}
		if err == nil && !joined.failed() {
			return joined, nil
		}
		joined.release()
		if err != nil {
			return nil, config.broker.Unreachable(err)
		}
		if first {
			return nil, cmp.Or(joined.err, nats.ErrConnectionClosed)
		}
	}
}

// joinShared returns the broker connection for a configuration, and whether it is new and has to be dialled.
func joinShared(config *connectConfig) (joined *shared, first bool) {
	links.mu.Lock()
	defer links.mu.Unlock()
	key := config.broker
	key.ConnectTimeout = 0 // it does not distinguish brokers
	if open := links.open[key]; open != nil && !config.ownLink {
		open.users++
		return open, false
	}
	fresh := &shared{
		tlsState: tls.ConnectionState{HandshakeComplete: true},
		local:    newLocalRegistry(), membership: client.NewMembership(), inflight: new(server.Inflight),
		dialled: make(chan struct{}), announcing: make(chan struct{}, 1), users: 1,
	}
	if !config.ownLink {
		links.open[key] = fresh
	}
	return fresh, true
}

func (s *shared) dial(ctx context.Context, name string, config *connectConfig) {
	defer close(s.dialled)
	if s.broker, s.err = natsconn.Dial(ctx, name, config.broker, *config.logger, &s.lines); s.err == nil {
		s.services = natsmicro.New(s.broker, *config.logger)
	}
}

// awaitDial waits for the user that dials.
func (s *shared) awaitDial(ctx context.Context) error {
	select {
	case <-s.dialled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release gives the connection back; its last user closes it. After a failure it is not shared again.
func (s *shared) release() {
	if s.releaseUser() == 0 && s.broker != nil {
		s.broker.Close()
	}
}

// releaseUser returns how many users there still are.
func (s *shared) releaseUser() int {
	links.mu.Lock()
	defer links.mu.Unlock()
	s.users--
	if s.users > 0 && !s.failed() {
		return s.users
	}
	for key, open := range links.open {
		if open == s {
			delete(links.open, key)
		}
	}
	return s.users
}

// failed reports whether the connection was dialled and is unusable.
func (s *shared) failed() bool {
	select {
	case <-s.dialled:
		return s.err != nil || s.broker.IsLost()
	default:
		return false
	}
}

// spare is the memory that the connections on one broker connection leave to each other. With pools of its own each
// would keep some, and a pool that is used once takes 128 bytes for each core.
type spare struct {
	outgoing sync.Pool // of *clientCall
	givens   sync.Pool // of *localValues
	incoming sync.Pool // of *serverCall, answered
	twins    sync.Pool // of *twin, not sent
}

// unused returns memory from a pool, or new memory.
func unused[T any](pool *sync.Pool) *T {
	if ended, ok := pool.Get().(*T); ok {
		return ended
	}
	return new(T)
}
