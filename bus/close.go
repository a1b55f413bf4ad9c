package bus

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Close leaves the bus without losing a call: it takes no further requests, lets handlers finish and their own calls be
// answered, sends their responses, and closes. It waits no longer than ctx allows, and the error says what was cut off.
// A second Close waits for the first one, as long as its own ctx allows, and has nothing to report then.
//
// Calls that are made after Close has begun fail with [ErrClosed], except those of handlers that still run. If these
// call back the host that is closing, directly or through others, another instance of it has to be there; only calls of
// an instance to its own host are answered by itself. Do not call Close from a handler: it would wait for itself.
func (c *Conn) Close(ctx context.Context) error {
	c.mu.Lock()
	if begun := c.closing; begun != nil {
		c.mu.Unlock()
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
	closed := make(chan struct{})
	c.closing = closed
	c.mu.Unlock()
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
		return fmt.Errorf("close %s: held up, by the broker, a log writer or a callback, and left to end on its own: %w", c.host, context.Cause(ctx))
	}
}

// closeGrace is how long Close waits, after its context has ended, for what gives up with that context to tell what it has cut off.
const closeGrace = 500 * time.Millisecond

func (c *Conn) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing != nil
}

// drain is the order that was measured to lose nothing: no more requests, then no more handlers, then no more
// responses, and only then the connection.
func (c *Conn) drain(ctx context.Context) error {
	c.calls.Close()
	c.disappear()
	c.link.local.remove(c)
	c.tap.close()
	if c.link.quiet != nil {
		c.unsubscribeInQuiet(ctx)
	} else {
		c.drainSubscriptions(ctx)
	}
	c.link.dispatcher.barrier(ctx)
	c.unfinished.close()
	if c.Connected() {
		c.announce(ctx, "bye")
	}
	_, working := c.handlers.Count()
	await(ctx, c.handlers.Close())
	await(ctx, c.controls.Close())
	await(ctx, c.calls.Close()) // not sooner: handlers may leave some behind
	c.events.nakAll()           // there are some only if the time is up
	handlers, _ := c.handlers.Count()
	calls, _ := c.calls.Count()
	c.stop()
	c.link.lines.Flush(ctx)
	flushed := c.link.flush(ctx)
	c.abandon()
	switch {
	case handlers > 0 || calls > 0:
		return fmt.Errorf("close %s: it cut off %s and %s: %w", c.host, amount(handlers, "handler"), amount(calls, "call"), context.Cause(ctx))
	case flushed != nil && working > 0 && ctx.Err() == nil:
		return fmt.Errorf("close %s: the last responses may not have been sent: %w", c.host, flushed)
	}
	return nil
}

// drainSubscriptions ends all subscriptions but those for responses, once what was delivered before has come. When the
// broker goes away meanwhile nothing more comes.
func (c *Conn) drainSubscriptions(ctx context.Context) {
	connection := c.link.conn()
	lost := connection.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer connection.RemoveStatusListener(lost)
	if !c.Connected() {
		return
	}
	draining := c.beginDraining()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		draining.Wait()
	}()
	select {
	case <-drained:
	case <-lost:
	case <-ctx.Done():
	}
}

// beginDraining has those subscriptions deliver what is on its way, and then end. A registration that is taken back at the
// same time ends them, too. The broker client reports no end of a subscription that has ended already, so this holds the
// lock until all of them are set to report theirs. It cannot hold off an application that drains the connection it has given.
func (c *Conn) beginDraining() *sync.WaitGroup {
	c.mu.Lock()
	defer c.mu.Unlock()
	draining := new(sync.WaitGroup)
	for _, each := range c.subscriptions[min(responseSubscriptions, len(c.subscriptions)):] {
		draining.Add(1)
		ended := sync.OnceFunc(draining.Done)
		each.made.SetClosedHandler(func(string) { ended() })
		if each.made.Drain() != nil || !each.made.IsValid() { // it has ended already
			ended()
		}
	}
	return draining
}

// unsubscribeInQuiet ends the same subscriptions at a moment at which nothing is on its way to them. If there is no such
// moment it leaves them to [Conn.abandon].
func (c *Conn) unsubscribeInQuiet(ctx context.Context) {
	if !c.Connected() || c.link.quiet.AwaitQuiet(ctx) != nil {
		return
	}
	c.unsubscribe(c.subscribed()[:responseSubscriptions])
	_ = c.link.flush(ctx) // when it fails the broker has gone, and nothing comes any more
}

// abandon gives up everything at once.
func (c *Conn) abandon() {
	c.stop()
	c.tap.close()
	c.closeVerifier()
	c.unfinished.close()
	c.link.local.remove(c)
	c.link.services.leave(c)
	c.unsubscribe(nil)
	c.link.leave(c)
	c.link.release()
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
