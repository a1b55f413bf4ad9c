package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/batch"
)

// nats.go takes no context to publish, and holds the lock of its connection while it writes to the socket. A broker that accepts
// nothing would hold up every call then, and even the question of whether the connection is open. So the socket of a connection of
// our own is a [batch.Conn], which accepts everything, and publishing waits for room in it, as long as the context allows. For a
// connection that was given, and for one without batching, the limit is the application's nats.FlusherTimeout.

// stalledAfter is how long a broker may accept nothing, while there is no room for more, before it counts as stalled. The connection
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
		return newError(http.StatusServiceUnavailable, ExecutedNo, ErrDisconnected, "the broker has accepted nothing for %s", stalledAfter)
	}
	return l.hand(subject, reply, payload)
}

// isStalled reports whether the broker has accepted nothing for a while.
func (l *link) isStalled() bool {
	writer := l.writer.Load()
	return writer != nil && writer.FullFor() > stalledAfter
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
		return newError(http.StatusServiceUnavailable, ExecutedNo, errEnded(ctx), "the caller stopped waiting "+why)
	}
	return newError(http.StatusGatewayTimeout, ExecutedNo, errTimeBudget(), "the time budget was spent "+why)
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
		return newError(http.StatusServiceUnavailable, ExecutedNo, fmt.Errorf("%w: %w", ErrDisconnected, err), "the message cannot be published: %s", err)
	}
}

// exceeded is the error for a message that is too large for the broker.
func (l *link) exceeded(size int) error {
	return newError(http.StatusRequestEntityTooLarge, ExecutedNo, nats.ErrMaxPayload,
		"a message of %d bytes exceeds the broker's limit of %d", size, l.payload())
}

// takes reports whether a broker connection sends what is published.
func takes(connection *nats.Conn) bool {
	status := connection.Status()
	return status == nats.CONNECTED || status == nats.DRAINING_SUBS
}

func errOutOfReach() error {
	return newError(http.StatusServiceUnavailable, ExecutedNo, ErrDisconnected, "the broker is out of reach")
}
