package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
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
	own := subject.Instance(c.plane, c.host, c.id) // brings the parts of requests that have begun
	c.session.Drain(ctx, func(each *natsconn.Subscription) bool { return each.Subject != own })
	c.broker.Barrier(ctx)
	await(ctx, c.server.StopStreams())
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

// Withdraw takes back the endpoints that impl was registered with, by [Serve] or [Conn.Handle], and loses no call: it
// takes no further requests for them, and waits until their handlers have returned, as long as ctx allows. They go on
// then, and the error says how many. All that tells what the connection serves follows before the wait: documents,
// discovery, permissions and the other instances. After the last endpoint the connection is as before the first.
//
// Calls go to other instances, but those that the handlers make to impl meanwhile. While there is none, or this one
// alone is addressed, they fail with 503 and have not run; as for a host that is being replaced, they first wait up to
// half a second for one. impl can be served again at any time.
//
// impl is the same pointer, or an equal value; an error says that it is not served, or that values of its type, such as
// functions, cannot be compared. Subscriptions to events stay. Do not call Withdraw from a handler of impl: it would
// wait for itself. It is safe for concurrent use.
func (c *Conn) Withdraw(ctx context.Context, impl any) error {
	endpoints, err := c.unregister(ctx, impl)
	if err != nil {
		return fmt.Errorf("withdraw %T from %s: %w", impl, c.host, err)
	}
	held, running := ctx.Err(), 0
	for _, group := range groupsOf(endpoints) {
		await(ctx, group.Refuse())
		running += group.Running()
	}
	c.registry.leaving.Load().Remove(routedOf(endpoints))
	switch {
	case running > 0:
		return fmt.Errorf("withdraw %T from %s: it does not wait any longer for %s: %w", impl, c.host,
			amount(running, "handler"), context.Cause(ctx))
	case held != nil:
		return fmt.Errorf("withdraw %T from %s: requests that were under way may be lost: %w", impl, c.host,
			context.Cause(ctx))
	}
	return nil
}

// groupsOf returns the groups of endpoints, each once.
func groupsOf(endpoints []*endpoint) (groups []*server.Group) {
	for _, e := range endpoints {
		if group := e.routed.Group; group != nil && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	return groups
}

// unregister takes back the endpoints of impl, in the order of drain: no more requests, and only then the rest. While
// it waits for the broker nothing else is registered.
func (c *Conn) unregister(ctx context.Context, impl any) (endpoints []*endpoint, err error) {
	if impl == nil || !reflect.ValueOf(impl).Comparable() {
		return nil, errors.New("its values cannot be compared, so it is unknown what was served: serve and withdraw a pointer")
	}
	c.registry.registering.Lock()
	defer c.registry.registering.Unlock()
	if c.isClosing() {
		return nil, ErrClosed
	}
	if endpoints = c.registry.of(impl); len(endpoints) == 0 {
		return nil, errors.New("it is not served by this connection: pass the value that was served, the same pointer")
	}
	endpoints = append(endpoints, c.registry.documentsOf(endpoints)...)
	all := endpoints
	if c.registry.areAllServed(endpoints) {
		directory, err := directoryEndpoints()
		if err != nil {
			return nil, err
		}
		all = slices.Concat(endpoints, directory)
		c.registry.serving = false
		c.shared.services.Leave(microService{c})
	}
	c.unsubscribe(ctx, all)
	c.registry.leaving.CompareAndSwap(nil, server.NewRouter())
	_ = c.registry.leaving.Load().Add(routedOf(endpoints)) // it fails if handlers of an earlier Withdraw answer these
	c.shared.local.change(func() {
		c.server.Router.Remove(routedOf(all))
		c.server.Router.Withdraw(routedOf(endpoints))
	})
	c.broker.Barrier(ctx) // what another subscription has brought is admitted, too
	c.registry.remove(endpoints)
	c.documents.remove(endpoints)
	c.announce(ctx, server.HelloPath, nil)
	c.others.differing.schedule(c.compareDocuments)
	return endpoints, nil
}

// unsubscribe ends the subscriptions of endpoints, once what they have brought is admitted.
func (c *Conn) unsubscribe(ctx context.Context, endpoints []*endpoint) {
	subjects := make(map[string]bool)
	for _, each := range c.subscriptionsOf(endpoints) {
		subjects[each.Subject] = true
	}
	ends := func(each *natsconn.Subscription) bool { return subjects[each.Subject] }
	c.session.Drain(ctx, ends)
	c.broker.Barrier(ctx)
	c.session.Unsubscribe(slices.DeleteFunc(c.session.Subscriptions(),
		func(each *natsconn.Subscription) bool { return !ends(each) }))
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
