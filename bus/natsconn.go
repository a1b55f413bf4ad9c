package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/batch"
	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/testbroker"
	"github.com/busline/busline/bus/internal/worker"
)

// link is one broker connection with the connections of this process that share it. Its last user closes it.
type link struct {
	current    atomic.Pointer[nats.Conn]  // another one once the broker has closed it: see natsreconnect.go
	owned      bool                       // dialled by us, hence ours to close and to replace
	writer     atomic.Pointer[batch.Conn] // what the connection of our own writes to; nil if nats.go writes to the socket itself
	turns      chan struct{}              // room for one that waits to publish
	quiet      testbroker.Quiet           // nil unless the broker is one
	local      *localRegistry
	membership *membership
	dispatcher *dispatcher
	workers    *worker.Pool
	spare      spare
	inflight   *inflight
	server     http.Server // what web endpoints are told serves them: it does nothing
	services   *serviceProtocol
	state      *connState
	denials    permissionViolations
	retries    logqueue.Throttle // of the reasons why the broker cannot be reached again; empty once it is back
	lines      logqueue.Queue
	denying    sync.RWMutex // see checking
	logger     zerolog.Logger

	redial   func(context.Context) (*nats.Conn, error) // tries once
	relinked atomic.Int64
	unwatch  context.CancelFunc // ends watch; nil unless it was dialled
	watched  chan struct{}      // closed when watch has ended

	hearing   sync.Mutex // protects witnesses
	witnesses []*asyncErrCollector

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

// await waits for the one that dials.
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
		local: newLocalRegistry(), membership: newMembership(), inflight: new(inflight), state: newConnState(), workers: new(worker.Pool), logger: *config.logger,
		dialled: make(chan struct{}), turns: make(chan struct{}, 1), watched: make(chan struct{}), greeting: make(chan struct{}, 1), users: 1,
	}
	made.dispatcher = newDispatcher(made.workers)
	made.services = &serviceProtocol{link: made}
	if !config.ownLink {
		links.open[key] = made
	}
	return made, true
}

// release gives the link back; its last user closes the broker connection, if that is ours. A link that could not be
// dialled, or whose connection is closed, is not shared again.
func (l *link) release() {
	if l.releaseUser() > 0 || l.unwatch == nil {
		return
	}
	l.unwatch()
	<-l.watched
	if l.owned {
		l.conn().Close()
	}
	l.dispatcher.end()
}

// releaseUser returns how many users there still are.
func (l *link) releaseUser() int {
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

// failed reports whether the link was dialled and is unusable.
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
		return status.ErrDisconnected
	}
	// Not nats.Conn.Flush: its timers come from a pool shared by the whole process.
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultConnectTimeout)
		defer cancel()
	}
	err := connection.FlushWithContext(ctx)
	if errors.Is(err, nats.ErrConnectionClosed) { // the broker client says so when it is cut off, too, and comes back
		err = fmt.Errorf("%w: %w", status.ErrDisconnected, err)
	}
	return err
}

// nats.go takes no context to publish, and holds the lock of its connection while it writes to the socket. A broker that accepts
// nothing would hold up every call then, and even the question of whether the connection is open. So the socket of a connection of
// our own is a [batch.Conn], which accepts everything, and publishing waits for room in it, as long as the context allows. For a
// connection that was given, and for one without batching, the limit is the application's nats.FlusherTimeout.

// stalledAfter is how long a broker may accept nothing of what there is to send before it counts as stalled. The connection
// is not healthy then, and acks do not wait in memory any more.
const stalledAfter = time.Second

// publish sends bytes, or returns an error and has not sent them. It waits for room until ctx ends or within has passed.
func (l *link) publish(ctx context.Context, within time.Duration, subject, reply string, payload []byte) error {
	if writer := l.writer.Load(); writer != nil && writer.IsFull() {
		done, err := l.awaitRoom(ctx, within, writer)
		if err != nil {
			return err
		}
		defer done()
	}
	return l.hand(subject, reply, payload)
}

// publishNow is publish for small messages of the framework, which wait for nothing: the goroutine that takes messages in sends
// most of them.
func (l *link) publishNow(subject, reply string, payload []byte) error {
	if l.isStalled() {
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, status.ErrDisconnected, "the broker has accepted nothing for %s", stalledAfter)
	}
	return l.hand(subject, reply, payload)
}

// isStalled reports whether the broker has accepted nothing for a while.
func (l *link) isStalled() bool {
	writer := l.writer.Load()
	return writer != nil && writer.StalledFor() > stalledAfter
}

// awaitRoom waits for the caller's turn to publish, and then for room. done ends the turn.
func (l *link) awaitRoom(ctx context.Context, within time.Duration, writer *batch.Conn) (done func(), err error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case l.turns <- struct{}{}:
	case <-limited.Done():
		return nil, errNoRoom(ctx)
	}
	if err := writer.AwaitRoom(limited); err != nil {
		<-l.turns
		if limited.Err() != nil {
			return nil, errNoRoom(ctx)
		}
		return nil, errOutOfReach()
	}
	return func() { <-l.turns }, nil
}

// errNoRoom is the error for a message that could not be sent while ctx allowed, or within its time budget.
func errNoRoom(ctx context.Context) error {
	const why = "before the message was sent, as the broker accepts no more at the moment"
	if errors.Is(ctx.Err(), context.Canceled) {
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, status.ContextEnded(ctx), "the caller stopped waiting "+why)
	}
	return status.Errorf(http.StatusGatewayTimeout, status.ExecutedNo, status.TimeBudgetSpent(), "the time budget was spent "+why)
}

// hand gives bytes to the broker client, which sends them now or not at all. A connection of our own keeps nothing for later: see
// natsOptions.
func (l *link) hand(subject, reply string, payload []byte) error {
	connection := l.conn()
	if !l.owned && !takes(connection) {
		return errOutOfReach()
	}
	var err error
	if reply == "" {
		err = connection.Publish(subject, payload)
	} else {
		err = connection.PublishRequest(subject, reply, payload)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return l.exceeded(len(payload))
	case errors.Is(err, nats.ErrReconnectBufExceeded), !takes(connection):
		return errOutOfReach()
	default:
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, fmt.Errorf("%w: %w", status.ErrDisconnected, err), "the message cannot be published: %s", err)
	}
}

// exceeded is the error for a message that is too large for the broker.
func (l *link) exceeded(size int) error {
	return status.Errorf(http.StatusRequestEntityTooLarge, status.ExecutedNo, nats.ErrMaxPayload,
		"a message of %d bytes exceeds the broker's limit of %d", size, l.payload())
}

// takes reports whether a broker connection sends what is published.
func takes(connection *nats.Conn) bool {
	status := connection.Status()
	return status == nats.CONNECTED || status == nats.DRAINING_SUBS
}

func errOutOfReach() error {
	return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, status.ErrDisconnected, "the broker is out of reach")
}

// payload returns how large a message the broker takes at this moment: another broker may take other sizes.
func (l *link) payload() int {
	if limit := l.conn().MaxPayload(); limit > 0 {
		return int(limit)
	}
	return math.MaxInt
}

// refuses reports whether a body is larger than any message that the broker takes. Of a small one it does not ask: then the
// broker client refuses the message.
func (l *link) refuses(body int) bool {
	const small = 16 << 10
	return body > small && body > l.payload()
}

// receiver takes a message that has come, and returns the request that is to be handled, if there is one. It does not
// wait for anything: see natsdispatch.go.
type receiver func(*nats.Msg) *serverCall

// subscription is a subscription with all that is needed to make it again.
type subscription struct {
	subject, queue string
	conn           *Conn
	through        subscribedRoute // of requests
	receive        receiver        // nil: they are requests
	optional       bool            // the broker may deny it: see serviceprotocol.go
	made           *nats.Subscription
	dropped        int // of made, when it was last looked at
}

func (l *subscription) isOptional() bool { return l.optional }

func (l *subscription) subscribe(on *nats.Conn) (err error) {
	l.dropped = 0
	if l.made, err = l.conn.link.dispatcher.subscribe(on, l); errors.Is(err, nats.ErrConnectionClosed) {
		err = fmt.Errorf("%w: %w", status.ErrDisconnected, err) // it is being made anew
	}
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", l.subject, err)
	}
	return nil
}

// responseSubscriptions is how many subscriptions bring responses: the first ones, which Close ends last.
const responseSubscriptions = 2

// take is the receiver of a subscription.
func (l *subscription) take(message *nats.Msg) *serverCall {
	if l.receive != nil {
		return l.receive(message)
	}
	return l.conn.receiveRequest(message, &l.through)
}

func (c *Conn) subscribe(added *subscription) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listenLocked(added)
}

// listenLocked adds a subscription.
func (c *Conn) listenLocked(added *subscription) error {
	if c.closing != nil {
		return status.ErrClosed
	}
	added.conn = c
	if err := added.subscribe(c.link.conn()); err != nil {
		return err
	}
	c.subscriptions = append(c.subscriptions, added)
	return nil
}

// subscribed returns the subscriptions there are.
func (c *Conn) subscribed() []*subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.subscriptions)
}

// unsubscribe ends all subscriptions but those to keep.
func (c *Conn) unsubscribe(keep []*subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscriptions = slices.DeleteFunc(c.subscriptions, func(each *subscription) bool {
		ended := !slices.Contains(keep, each)
		if ended {
			c.link.dispatcher.forget(each.made)
		}
		return ended
	})
}
