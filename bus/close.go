package bus

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/subject"
)

// Close leaves the bus without losing a call: it takes no further requests, lets handlers finish and their own calls be
// answered, sends their responses, and closes. It waits no longer than ctx allows, and the error says what was cut off.
// A second Close waits for the first one, as long as its own ctx allows, and has nothing to report then.
//
// Calls that are made after Close has begun fail with [ErrClosed], except those of handlers that still run. If these
// call back the host that is closing, directly or through others, another instance of it has to be there; only calls of
// an instance to its own host are answered by itself. Do not call Close from a handler: it would wait for itself. It
// waits for streams, too: see [Closing].
func (c *Conn) Close(ctx context.Context) error {
	closed, begun := c.life.beginClosing()
	if begun != nil {
		select {
		case <-begun:
			return nil
		default:
		}
		select {
		case <-begun:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("close %s: still closing: %w", c.host, ctx.Err())
		}
	}
	c.hearCancels()
	c.session.StopSubscribing()
	drained := make(chan error, 1)
	go func() {
		defer close(closed)
		drained <- c.drain(ctx)
	}()
	select {
	case err := <-drained:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-drained:
		return err
	case <-time.After(closeGrace):
		return fmt.Errorf("close %s: held up, by the broker, a log writer or a callback, and left to end on its own: %w",
			c.host, context.Cause(ctx))
	}
}

// hearCancels subscribes to what ends handlers whose callers leave, as the subscription to everything for this instance
// ends before they do.
func (c *Conn) hearCancels() {
	cancel := subject.Address{Port: subject.ControlPort, Host: c.ownHost, Method: http.MethodPost, Path: "/cancel"}
	to, err := cancel.Subject(c.plane)
	if err == nil {
		err = c.session.Subscribe(&natsconn.Subscription{Subject: to, Receive: c.server.ReceiverOfInstance(), Answers: true,
			For: "callers that leave"})
	}
	if err != nil {
		c.log(c.logger.Debug().Err(err), "a closing instance does not hear of callers that leave")
	}
}

// closeGrace is how long Close waits, after its context has ended, for what gives up with that context to report what
// it has cut off.
const closeGrace = 500 * time.Millisecond

// drain is the order that was measured to lose nothing: no more requests, then no more handlers, then no more
// responses, and only then the connection.
func (c *Conn) drain(ctx context.Context) error {
	c.others.differing.end()
	c.client.Calls().Close()
	c.shared.services.Leave(microService{c})
	c.shared.local.remove(c)
	c.telemetry.tap.close()
	if arrived := c.server.Arrived(); arrived != nil { // requests that are streams, of which parts are still to come
		own := subject.Instance(c.plane, c.host, c.id)
		c.session.Drain(ctx, func(each *natsconn.Subscription) bool { return each.Subject != own })
		await(ctx, arrived)
	}
	c.session.Drain(ctx, func(*natsconn.Subscription) bool { return true })
	c.broker.Barrier(ctx)
	c.server.StopWaiting()
	if c.Connected() {
		c.announce(ctx, server.ByePath, nil)
	}
	_, working := c.server.Handlers.Count()
	await(ctx, c.server.Handlers.Close())
	await(ctx, c.server.Controls.Close())
	await(ctx, c.client.Calls().Close()) // not sooner: handlers may leave some behind
	for _, each := range c.extensions.All() {
		each.Close()
	}
	handlers, _ := c.server.Handlers.Count()
	calls, _ := c.client.Calls().Count()
	c.life.stop()
	c.shared.lines.Flush(ctx)
	flushed := c.broker.Flush(ctx)
	c.abandon()
	switch {
	case handlers > 0 || calls > 0:
		return fmt.Errorf("close %s: it cut off %s and %s: %w", c.host, amount(handlers, "handler"), amount(calls, "call"),
			context.Cause(ctx))
	case flushed != nil && working > 0 && ctx.Err() == nil:
		return fmt.Errorf("close %s: the last responses may not have been sent: %w", c.host, flushed)
	}
	return nil
}

func await(ctx context.Context, ended <-chan struct{}) {
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// amount returns "1 call", "2 calls".
func amount(of int, what string) string {
	if of != 1 {
		what += "s"
	}
	return strconv.Itoa(of) + " " + what
}

// Closing returns a channel that is closed when the instance that serves the request of ctx begins to close: see
// [Conn.Close]. A stream without an end ends then, with an error such as 503, so that Close need not cut it off and its
// caller finds another instance. Outside of a handler Closing returns nil, which is never closed.
func Closing(ctx context.Context) <-chan struct{} {
	if callctx.Of(ctx) == nil {
		return nil
	}
	return servingConn(ctx).life.begun
}

// beginClosing returns a channel to close in the end or, if another Close has begun, that of the other.
func (l *lifetime) beginClosing() (closed, begun chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing != nil {
		return nil, l.closing
	}
	l.closing = make(chan struct{})
	close(l.begun)
	return l.closing, nil
}
