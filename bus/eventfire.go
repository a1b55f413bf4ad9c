package bus

import (
	"context"
	"errors"
	"net/http"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// fire hands an event to the broker and returns when the broker has it. Nobody waits for answers: the acks and responses of
// those who get it are strangers.
func (c *Conn) fire(ctx context.Context, event *outgoing, store eventStore) error {
	return c.firing(ctx, event, func(ctx context.Context) error {
		if store != nil {
			return c.fireStored(ctx, event, store)
		}
		before := c.link.conn().LastError()
		if err := c.nats.send(ctx, event); err != nil {
			return unsent(err)
		}
		return c.confirm(ctx, event, before)
	})
}

// firing sends an event through the interceptors, seals it, and carries it.
func (c *Conn) firing(ctx context.Context, event *outgoing, carry func(context.Context) error) error {
	c.made.Add(1)
	x := event.exchange()
	x.Multicast = true
	event.carry = func(ctx context.Context) error {
		if err := c.enter(ctx); err != nil {
			return err
		}
		defer c.calls.leave()
		if err := c.sealEvent(ctx, event); err != nil {
			return err
		}
		return carry(ctx)
	}
	err := c.calling(ctx, x)
	switch {
	case err != nil:
		return x.failed(err)
	case x.answeredByInterceptor() && x.Response.Status >= http.StatusBadRequest:
		return unsent(responseError(x.Response))
	default:
		return nil
	}
}

// fireStored stores an event, and then also fires it to those who subscribe without Durable. It is stored then, so it is no
// error if it does not reach them.
func (c *Conn) fireStored(ctx context.Context, event *outgoing, store eventStore) error {
	if err := store.keep(ctx, event); err != nil {
		return err
	}
	if err := c.nats.send(ctx, event); err != nil {
		c.log(c.logger.Warn().Err(err).Str("subject", event.subject),
			"an event was stored, but subscribers without bus.Durable did not get it")
	}
	return nil
}

// storeEvent stores an event, and no more.
func (c *Conn) storeEvent(ctx context.Context, event *outgoing, store eventStore) error {
	return c.firing(ctx, event, func(ctx context.Context) error { return store.keep(ctx, event) })
}

// sealEvent gives an event all that depends on who fires it and when. Its handlers are not part of the call that fires it: they
// have a whole time budget, and share only the depth, the actor and the trace of the chain.
func (c *Conn) sealEvent(ctx context.Context, event *outgoing) error {
	if ctx.Err() != nil {
		return newError(statusOfContext(ctx.Err()), ExecutedNo, errEnded(ctx), "the context ended before the event was fired")
	}
	if err := c.seal(ctx, event); err != nil {
		return err
	}
	if event.CallDepth > wire.MaxCallDepth {
		return newError(http.StatusLoopDetected, ExecutedNo, nil, "calls and events are nested more than %d deep", wire.MaxCallDepth)
	}
	c.freshStamp(event)
	c.callees.note(event.address, nil)
	return nil
}

// confirm returns when the broker has taken what was published to it.
func (c *Conn) confirm(ctx context.Context, event *outgoing, before error) error {
	ctx, cancel := context.WithTimeout(ctx, defaultConnectTimeout)
	defer cancel()
	err := c.link.flush(ctx)
	if err != nil {
		failed := newError(http.StatusServiceUnavailable, ExecutedUnknown, errors.Join(ErrDisconnected, err), "the broker has not confirmed the event: %s", err)
		failed.MsgID = event.MsgID
		return failed
	}
	last := c.link.conn().LastError()
	if denied, ok := denialOf(last); ok && last != before && denied == (denial{publish: true, subject: event.subject}) { //nolint:errorlint // the very same report
		failed := c.forbidden(event.subject)
		failed.Executed, failed.cause = ExecutedNo, nats.ErrPermissionViolation
		return failed
	}
	return nil
}

// answeredBy is the host that answers must come from: that of the address or, for an event, any.
func answeredBy(called subject.Address) string {
	if called.Port == eventPort {
		return hostAll
	}
	return called.Host
}

// noConnection is the error for a call without a connection.
func noConnection(address string) *Error {
	return newError(http.StatusServiceUnavailable, ExecutedNo, errors.New("the connection is nil"), "%s cannot be called without a connection", address)
}
