package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/batch"
	"github.com/busline/busline/bus/internal/testbroker"
)

// link is one broker connection with the connections of this process that share it. Its last user closes it.
type link struct {
	current  atomic.Pointer[nats.Conn]  // another one once the broker has closed it: see relink.go
	owned    bool                       // dialled by us, hence ours to close and to replace
	writer   atomic.Pointer[batch.Conn] // what the connection of our own writes to; nil if nats.go writes to the socket itself
	turns    chan struct{}              // room for one that waits to publish
	quiet    testbroker.Quiet           // nil unless the broker is one
	local    *locals
	census   *census
	intake   *intake
	workers  *workers
	spare    spare
	running  *running
	server   http.Server // what web endpoints are told serves them: it does nothing
	services *serviceProtocol
	outage   *outage
	denials  denials
	retries  logThrottle // of the reasons why the broker cannot be reached again; empty once it is back
	lines    logQueue
	denying  sync.RWMutex // see checking
	logger   zerolog.Logger

	redial   func(context.Context) (*nats.Conn, error) // tries once
	relinked atomic.Int64
	unwatch  context.CancelFunc // ends watch; nil unless it was dialled
	watched  chan struct{}      // closed when watch has ended

	hearing   sync.Mutex // protects witnesses
	witnesses []*witness

	joining sync.Mutex // protects joined
	joined  []*Conn

	greeting chan struct{} // room for the one that greets: see announce

	dialled chan struct{} // closed when what stands above, or err, is set
	err     error
	users   int // protected by links.mu
}

// links are the broker connections of this process. Sharing them is a process-wide fact, hence the only
// variable of the package: a service costs a few KiB on a shared connection, and 64 KiB and three goroutines
// on one of its own.
var links = struct { //nolint:gochecknoglobals // docs/decisions/0002
	mu   sync.Mutex
	open map[linkConfig]*link
}{open: map[linkConfig]*link{}}

// acquireLink returns the link that the configuration asks for. The first to ask dials, the others wait for it.
func acquireLink(ctx context.Context, name string, config *connectConfig) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, config.linkConfig.patience())
	defer cancel()
	for {
		shared, first := joinLink(config)
		if first {
			shared.dial(ctx, name, config)
		} else if err := shared.await(ctx); err != nil {
			shared.release()
			return nil, noBroker(config.linkConfig, err)
		}
		if err := shared.awaitOpen(ctx); err != nil {
			shared.release()
			return nil, noBroker(config.linkConfig, err)
		}
		if !shared.failed() {
			return shared, nil
		}
		shared.release()
		if first {
			return nil, cmp.Or(shared.err, nats.ErrConnectionClosed)
		}
	}
}

// await waits for whoever dials.
func (l *link) await(ctx context.Context) error {
	select {
	case <-l.dialled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// joinLink returns the link for a configuration, and whether it was made just now.
func joinLink(config *connectConfig) (joined *link, first bool) {
	links.mu.Lock()
	defer links.mu.Unlock()
	key := config.linkConfig
	key.connectTimeout = 0 // it does not tell brokers apart
	if shared := links.open[key]; shared != nil && !config.ownLink {
		shared.users++
		return shared, false
	}
	made := &link{
		local: newLocals(), census: newCensus(), running: new(running), outage: newOutage(), workers: new(workers), logger: *config.logger,
		dialled: make(chan struct{}), turns: make(chan struct{}, 1), watched: make(chan struct{}), greeting: make(chan struct{}, 1), users: 1,
	}
	made.intake = newIntake(made.workers)
	made.services = &serviceProtocol{link: made}
	if !config.ownLink {
		links.open[key] = made
	}
	return made, true
}

// release gives the link back; its last user closes the broker connection, if that is ours. A link that could not be
// dialled, or whose connection is closed, is not shared again.
func (l *link) release() {
	if l.giveBack() > 0 || l.unwatch == nil {
		return
	}
	l.unwatch()
	<-l.watched
	if l.owned {
		l.conn().Close()
	}
	l.intake.end()
}

// giveBack returns how many users there still are.
func (l *link) giveBack() int {
	links.mu.Lock()
	defer links.mu.Unlock()
	l.users--
	if l.users > 0 && !l.failed() {
		return l.users
	}
	for key, open := range links.open {
		if open == l {
			delete(links.open, key)
		}
	}
	return l.users
}

// failed says whether the link was dialled and is unusable.
func (l *link) failed() bool {
	select {
	case <-l.dialled:
		return l.err != nil || !l.owned && l.conn().IsClosed()
	default:
		return false
	}
}

// flush waits until the broker has processed everything sent so far, 5 s when ctx has no end.
func (l *link) flush(ctx context.Context) error { return flushed(ctx, l.conn()) }

func flushed(ctx context.Context, connection *nats.Conn) error {
	if !connection.IsConnected() {
		return ErrDisconnected
	}
	// Not nats.Conn.Flush: its timers come from a pool shared by the whole process.
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultConnectTimeout)
		defer cancel()
	}
	err := connection.FlushWithContext(ctx)
	if errors.Is(err, nats.ErrConnectionClosed) { // the broker client says so when it is cut off, too, and comes back
		err = fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	return err
}
