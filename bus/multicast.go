package bus

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/busline/busline/bus/wire"
)

// multicast calls every instance that serves the address, and yields the answers as they come. It goes over the broker even
// to instances of this process, so that each gets it once. An instance that has acked and does not answer in time is yielded
// as an error. If nobody is there, nothing is yielded.
func (c *Conn) multicast(ctx context.Context, request *outgoing) iter.Seq2[*wire.Response, error] {
	return func(yield func(*wire.Response, error) bool) {
		c.made.Add(1)
		sent := *request
		sent.Header = slices.Clip(sent.Header) // fields that are added are not seen by other ranges
		x := sent.exchange()
		x.Multicast = true
		stopped := false // nothing must be yielded any more
		counted := func(response *wire.Response, err error) bool {
			if err == nil {
				x.Answers++
				sent.taker = senderOf(response)
			}
			stopped = true // also when the loop over the answers panics
			stopped = !yield(response, err)
			return !stopped
		}
		sent.carry = func(ctx context.Context) error {
			if stopped {
				return nil // an interceptor has called next again
			}
			return c.collect(ctx, &sent, counted)
		}
		err := c.calling(ctx, x)
		switch {
		case stopped:
		case err != nil:
			yield(nil, x.failed(err))
		case x.answeredByInterceptor():
			yield(x.Response, nil)
		}
	}
}

// collect is a multicast that has passed through the interceptors. What befalls an instance is yielded; an error is returned
// if the call itself has failed, so that the interceptors see it, too.
func (c *Conn) collect(ctx context.Context, request *outgoing, yield func(*wire.Response, error) bool) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.calls.leave()
	waiting := c.responders.newSlot(c, request, budget(ctx))
	defer c.responders.reuse(waiting)
	sent := &waiting.call
	if err := c.seal(ctx, sent); err != nil {
		return err
	}
	c.stamp(sent, waiting.ends)
	request.MsgID = sent.MsgID // for the interceptors
	if err := tooLate(ctx, sent.TimeBudget); err != nil {
		return err
	}
	return c.gather(ctx, waiting, yield)
}

// newSlot returns an unused slot for a call. Each range over a multicast is a call of its own.
func (r *responders) newSlot(c *Conn, request *outgoing, budget time.Duration) *multicastSlot {
	s, ok := r.unused.Get().(*multicastSlot)
	if !ok {
		s = &multicastSlot{news: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
		s.timer.Stop()
	}
	s.conn, s.call, s.host, s.began = c, *request, answeredBy(request.address), time.Now()
	s.call.Header = slices.Clip(s.call.Header) // fields that are added are not seen by other calls
	s.ends, s.lastAck = s.began.Add(budget), s.began
	return s
}

// reuse takes back a slot that is closed, so that nothing refers to it any more.
func (r *responders) reuse(s *multicastSlot) {
	s.timer.Stop()
	select {
	case <-s.news:
	default:
	}
	clear(s.members)
	clear(s.inbox)
	clear(s.strangers)
	*s = multicastSlot{news: s.news, timer: s.timer, members: s.members[:0], inbox: s.inbox[:0], strangers: s.strangers}
	r.unused.Put(s)
}

// gather sends the request and yields the answers until the call has ended, or returns why it has failed.
func (c *Conn) gather(ctx context.Context, waiting *multicastSlot, yield func(*wire.Response, error) bool) error {
	sent := &waiting.call
	before := c.responders.begin(waiting.host, sent.subject, sent.MsgID)
	waiting.expectAll(before)
	c.pending.open(sent.MsgID, waiting)
	defer c.pending.close(sent.MsgID)
	if err := c.nats.send(ctx, sent); err != nil {
		return unsent(err)
	}
	waiting.probe = multicastProbe{conn: c, slot: waiting, due: waiting.began.Add(probeInterval), outage: c.link.outage.tooLong()}
	left, noted := true, false // left: by whoever ranges over the answers, with break, return or a panic
	defer func() {
		waiting.probe.end()
		if left {
			_, silent := waiting.remainder()
			c.callOff(ctx, sent, silent)
		}
	}()
	for {
		came, why := waiting.next(ctx)
		if !noted && (came.response != nil || why != goesOn) {
			c.callees.note(sent.address, came.response)
			noted = true
		}
		switch {
		case why == goesOn && came.ofCall():
			return came.failed
		case why == goesOn && came.yield(yield):
		case why == goesOn:
			return nil
		case why != allAnswered:
			left = false
			return c.stopWaiting(ctx, waiting, why, yield)
		case c.responders.conclude(waiting, before): // only now has it seen all responders
			left = false
			return nil
		}
	}
}

// outcome is the result of the call at one instance: a response, or why there will be none.
type outcome struct {
	response *wire.Response
	failed   *Error
}

// ofCall says whether it is not that of an instance: the call has reached none.
func (o *outcome) ofCall() bool { return o.failed != nil && o.failed.Host == "" }

func (o *outcome) yield(yield func(*wire.Response, error) bool) bool {
	if o.failed != nil {
		return yield(nil, o.failed)
	}
	return yield(o.response, nil)
}
