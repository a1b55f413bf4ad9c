// Package natsconn is one broker connection that heals, and the subscriptions on it.
//
// [Dial] makes a [Conn]: a connection to NATS that is replaced when the broker closes it for good. Each user of the
// Conn opens a [Session], which holds its subscriptions, makes them again on another connection, and finds out which
// ones the broker denies. One goroutine, the dispatcher, takes what arrives for all sessions and hands each message to
// the [Receiver] of its subscription.
package natsconn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
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

// Conn is one broker connection, and the sessions on it. Its methods are safe for concurrent use.
type Conn struct {
	Workers *worker.Pool // run the jobs that receivers return
	Lines   *logqueue.Queue

	current atomic.Pointer[nats.Conn] // replaced once the broker has closed it: see reconnect.go
	owned   bool                      // Dial made it, so Conn closes and replaces it
	// what a connection of our own writes to; nil if nats.go writes to the socket itself
	writer     atomic.Pointer[batch.Conn]
	publishSem chan struct{}                           // room for the one goroutine that waits to publish
	buffers    sync.Pool                               // of *[]byte
	responses  sync.Pool                               // of *wire.Response
	quiet      testbroker.Quiet                        // nil unless the broker is one
	spread     func(below time.Duration) time.Duration // draws a random pause
	dispatcher *dispatcher
	state      *connState
	violations violations
	denying    sync.RWMutex      // see expectingNoDenial
	retries    logqueue.Throttle // of the reasons why the broker cannot be reached again; empty once it is back
	logger     zerolog.Logger

	// tries once; leaving is nil, or its server is avoided
	redial     func(ctx context.Context, leaving *nats.Conn) (*nats.Conn, error)
	leaving    chan *nats.Conn // its server is about to shut down
	reconnects atomic.Int64
	unwatch    context.CancelFunc // ends watch
	watched    chan struct{}      // closed when watch has ended
	lost       chan struct{}      // closed when watch finds that the connection IsLost

	collecting sync.Mutex // protects collectors
	collectors []*asyncErrCollector

	joining  sync.Mutex // protects sessions
	sessions []*Session
}

// NATS returns the connection of nats.go. A later call may return another one.
func (c *Conn) NATS() *nats.Conn { return c.current.Load() }

// IsConnected reports whether the broker can be reached at this moment.
func (c *Conn) IsConnected() bool { return c.NATS().IsConnected() }

// IsLost reports whether the connection is the application's, and closed: then it does not come back.
func (c *Conn) IsLost() bool { return !c.owned && c.NATS().IsClosed() }

// Lost is closed when the connection IsLost.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Reconnects returns how often the connection was replaced.
func (c *Conn) Reconnects() int64 { return c.reconnects.Load() }

// Close closes the connection, unless it is the application's, and the workers. No session may be in use any more.
func (c *Conn) Close() {
	c.unwatch()
	<-c.watched
	if c.owned {
		c.NATS().Close()
	}
	c.dispatcher.end()
}

// Flush waits until the broker has processed everything sent so far, [DefaultTimeout] when ctx has no end.
func (c *Conn) Flush(ctx context.Context) error { return flush(ctx, c.NATS()) }

func flush(ctx context.Context, connection *nats.Conn) error {
	if !connection.IsConnected() {
		return status.ErrDisconnected
	}
	// Not nats.Conn.Flush: its timers come from a pool shared by the whole process.
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultTimeout)
		defer cancel()
	}
	err := connection.FlushWithContext(ctx)
	if errors.Is(err, nats.ErrConnectionClosed) { // nats.go also says so when it is cut off, and comes back
		err = fmt.Errorf("%w: %w", status.ErrDisconnected, err)
	}
	return err
}

// Barrier returns when the dispatcher has taken all messages that have arrived so far, or ctx ends.
func (c *Conn) Barrier(ctx context.Context) { c.dispatcher.barrier(ctx) }

// Backlog holds the jobs that wait for the handlers of earlier messages.
func (c *Conn) Backlog() *worker.Backlog { return c.dispatcher.handlers }

// nats.go takes no context to publish, and holds the lock of its connection while it writes to the socket. A broker
// that accepts nothing would hold up every call then, and even the question of whether the connection is open. So the
// socket of a connection of our own is a [batch.Conn], which accepts everything, and publishing waits for room in it,
// as long as the context allows. So is a connection within the process. For a connection of the application, and for a
// socket without batching, the limit is the application's nats.FlusherTimeout.

// stalledAfter is how long a broker may accept nothing of what there is to send before it counts as stalled. Then the
// connection is not healthy, and acks do not wait in memory any more.
const stalledAfter = time.Second

// publish sends bytes, or returns an error and has not sent them. It waits for room until ctx ends or within has
// passed.
func (c *Conn) publish(ctx context.Context, within time.Duration, subject, reply string, payload []byte) error {
	if writer := c.writer.Load(); writer != nil && writer.IsFull() {
		done, err := c.awaitRoom(ctx, within, writer)
		if err != nil {
			return err
		}
		defer done()
	}
	return c.hand(subject, reply, payload)
}

// PublishNow sends bytes without waiting for room, or returns an error and has not sent them.
func (c *Conn) PublishNow(subject, reply string, payload []byte) error {
	if c.IsStalled() {
		return status.NotRun(http.StatusServiceUnavailable, status.ErrDisconnected, "the broker has accepted nothing for %s",
			stalledAfter)
	}
	return c.hand(subject, reply, payload)
}

// IsStalled reports whether the broker has accepted nothing for a while.
func (c *Conn) IsStalled() bool {
	writer := c.writer.Load()
	return writer != nil && writer.StalledFor() > stalledAfter
}

// awaitRoom waits for the caller's turn to publish, and then for room, if writer is not nil. done ends the turn.
func (c *Conn) awaitRoom(ctx context.Context, within time.Duration, writer *batch.Conn) (done func(), err error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case c.publishSem <- struct{}{}:
	case <-limited.Done():
		return nil, errNoRoom(ctx)
	}
	done = func() { <-c.publishSem }
	if writer == nil {
		return done, nil
	}
	if err := writer.AwaitRoom(limited); err != nil {
		done()
		if limited.Err() != nil {
			return nil, errNoRoom(ctx)
		}
		return nil, ErrOutOfReach()
	}
	return done, nil
}

// errNoRoom is the error for a message that could not be sent while ctx allowed, or within its time budget.
func errNoRoom(ctx context.Context) error {
	const why = "before the message was sent, as the broker accepts no more at the moment"
	if errors.Is(ctx.Err(), context.Canceled) {
		return status.NotRun(http.StatusServiceUnavailable, status.ContextEnded(ctx), "the caller stopped waiting "+why)
	}
	return status.NotRun(http.StatusGatewayTimeout, status.TimeBudgetSpent(), "the time budget was spent "+why)
}

// hand gives bytes to nats.go, which sends them now or not at all. A connection of our own keeps nothing for later: see
// natsOptions.
func (c *Conn) hand(subject, reply string, payload []byte) error {
	connection := c.NATS()
	if !c.owned && !sends(connection) {
		return ErrOutOfReach()
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
		return status.NotRun(http.StatusRequestEntityTooLarge, nats.ErrMaxPayload,
			"a message of %d bytes exceeds the broker's limit of %d", len(payload), c.MaxPayload())
	case errors.Is(err, nats.ErrReconnectBufExceeded), !sends(connection):
		return ErrOutOfReach()
	default:
		return status.NotRun(http.StatusServiceUnavailable, fmt.Errorf("%w: %w", status.ErrDisconnected, err),
			"the message cannot be published: %s", err)
	}
}

// sends reports whether a connection sends what is published on it.
func sends(connection *nats.Conn) bool {
	state := connection.Status()
	return state == nats.CONNECTED || state == nats.DRAINING_SUBS
}

// ErrOutOfReach returns the error for a message that was not sent because there is no broker.
func ErrOutOfReach() error {
	return status.NotRun(http.StatusServiceUnavailable, status.ErrDisconnected, "the broker is out of reach")
}

// MaxPayload returns how large a message the broker takes at this moment, in bytes: another broker may take other
// sizes.
func (c *Conn) MaxPayload() int {
	if limit := c.NATS().MaxPayload(); limit > 0 {
		return int(limit)
	}
	return math.MaxInt
}

// Exceeds reports whether a body is larger than any message that the broker takes. It does not look for a small one:
// then nats.go refuses the message.
func (c *Conn) Exceeds(body int) bool {
	const small = 16 << 10
	return body > small && body > c.MaxPayload()
}

// IsClustered reports whether the broker is one of a cluster.
func (c *Conn) IsClustered() bool { return c.NATS().ConnectedClusterName() != "" }

// InboxPrefix returns how the subjects begin on which nats.go, and so JetStream, is answered.
func (c *Conn) InboxPrefix() string {
	if own := c.NATS().Opts.InboxPrefix; own != "" {
		return own + "."
	}
	return nats.InboxPrefix
}

// OwnsSubject reports whether a subject is below the plane of a session.
func (c *Conn) OwnsSubject(subject string) bool {
	return slices.ContainsFunc(c.allSessions(), func(s *Session) bool {
		return s.plane != "" &&
			strings.HasPrefix(subject, s.plane+".")
	})
}

func (c *Conn) log(event *zerolog.Event, message string) { c.Lines.Add(event, message) }
