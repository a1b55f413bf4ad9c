package bus

import (
	"context"
	"iter"
	"time"

	"github.com/busline/busline/bus/wire"
)

// multicastQuiet is how long no new ack has to come before a caller takes it that all instances have heard.
const multicastQuiet = 250 * time.Millisecond

// multicast makes one call to every instance that serves the address, and yields what each answers, as it
// comes. It goes over the broker even to instances of this process, so that each gets it once. An instance that
// has acked and does not answer in time is yielded as an error. Nobody there: nothing is yielded.
func (c *Conn) multicast(ctx context.Context, request *outgoing) iter.Seq2[*wire.Response, error] {
	return func(yield func(*wire.Response, error) bool) {
		nested, err := c.enter(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		if !nested {
			defer c.calls.leave()
		}
		ctx, cut := context.WithCancelCause(ctx)
		defer cut(nil)
		defer context.AfterFunc(c.base, func() { cut(ErrClosed) })()
		ends := time.Now().Add(budget(ctx))
		ctx, cancel := context.WithDeadline(ctx, ends)
		defer cancel()
		request := *request // each range is a call of its own
		if err := c.seal(ctx, &request); err != nil {
			yield(nil, err)
			return
		}
		c.stamp(&request, ends)
		if err := tooLate(ctx, &request); err != nil {
			yield(nil, err)
			return
		}
		c.gather(ctx, &request, yield)
	}
}

func (c *Conn) gather(ctx context.Context, sent *outgoing, yield func(*wire.Response, error) bool) {
	before := c.responders.begin(sent.address.Host, sent.subject, sent.MsgID)
	waiting := newMulticastSlot(c, sent, before.names)
	c.pending.open(sent.MsgID, waiting)
	defer c.pending.close(sent.MsgID)
	if err := c.nats.send(sent); err != nil {
		yield(nil, unsent(err))
		return
	}
	asking := &inquiry{conn: c, slot: waiting, due: time.Now().Add(probeInterval), outage: c.link.outage.tooLong()}
	defer func() { asking.end() }() // not without the closure: there is nothing to end yet
	for {
		came, err := waiting.next(ctx, asking)
		c.callees.note(sent.address, came.answer())
		switch {
		case err != nil:
			c.stopWaiting(ctx, sent, waiting, yield)
			return
		case came == nil: // all have answered; a call that ends before has not seen all
			c.responders.learn(sent.subject, before, waiting.seal())
			return
		case !came.yield(yield):
			return
		}
	}
}

// stopWaiting tells the caller what is missing, and those who work for it that they work for nobody.
func (c *Conn) stopWaiting(ctx context.Context, sent *outgoing, waiting *multicastSlot, yield func(*wire.Response, error) bool) {
	outcomes, silent := waiting.remainder()
	if ctx.Err() == nil {
		waiting.cutOff(sent.MsgID, outcomes, yield)
		return
	}
	c.callOff(ctx, sent, silent)
	waiting.giveUp(ctx, sent.MsgID, outcomes, silent, yield)
}

// outcome is what has become of the call at one instance: a response, or why there will be none.
type outcome struct {
	response *wire.Response
	failed   *Error
}

// answer returns the response, nil when there is none.
func (o *outcome) answer() *wire.Response {
	if o == nil {
		return nil
	}
	return o.response
}

func (o *outcome) yield(yield func(*wire.Response, error) bool) bool {
	if o.failed != nil {
		return yield(nil, o.failed)
	}
	return yield(o.response, nil)
}
