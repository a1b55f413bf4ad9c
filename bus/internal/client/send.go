package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// send hands a request to an instance of this process, or publishes it.
func (c *Client) send(ctx context.Context, request *Outgoing) error {
	if delivered, err := c.config.Deliver(ctx, request); delivered || err != nil {
		return err
	}
	return c.Publish(ctx, request)
}

// Publish publishes a sealed request, with a reply subject of its own, on which the broker reports when no instance subscribes. Acks and
// responses come to the response subject all the same. After an error nothing was sent.
func (c *Client) Publish(ctx context.Context, request *Outgoing) error {
	fits, err := c.publish(ctx, request.Subject, request.reply, request.Head, &request.Request)
	if !fits && err == nil {
		return c.publishFragments(ctx, request)
	}
	return err
}

// newReply returns a reply subject, and the message id that it ends with: 26 characters with 130 random bits.
func (c *Client) newReply() (reply, msgID string) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var id [26]byte
	_, _ = rand.Read(id[:]) // it never fails
	for i, random := range id {
		id[i] = alphabet[random%32]
	}
	buffer := make([]byte, 0, 256)
	buffer = append(append(append(buffer, c.response...), '.'), id[:]...)
	reply = string(buffer)
	return reply, reply[len(c.response)+1:]
}

// publish publishes a request, or a fragment of one. fits is false if it is too large for one message. A prepared head saves writing
// what is the same for all requests of an operation.
func (c *Client) publish(ctx context.Context, to, reply string, head *wire.RequestHead, request *wire.Request) (fits bool, err error) {
	if c.broker.Exceeds(len(request.Body)) { // it is not even written
		return false, nil
	}
	buffer := c.broker.Buffer()
	if head != nil {
		*buffer = head.AppendRequest((*buffer)[:0], request)
	} else {
		*buffer = wire.AppendRequest((*buffer)[:0], request)
	}
	return c.broker.Send(ctx, request.TimeBudget, to, reply, buffer)
}

// publishFragments publishes the first fragment. The others follow once an instance has taken it: see [pendingCall.publishFollowing].
func (c *Client) publishFragments(ctx context.Context, request *Outgoing) error {
	payload := c.broker.MaxPayload()
	if request.waiting == nil {
		return status.Errorf(http.StatusRequestEntityTooLarge, status.ExecutedNo, nats.ErrMaxPayload,
			"a multicast request must fit into one broker message of at most %d bytes; its body has %d bytes", payload, len(request.Body))
	}
	plan, err := fragment.PlanRequest(&request.Request, payload)
	if err != nil {
		return err
	}
	if plan.Count == 1 { // the broker that has refused it was replaced meanwhile by one that takes it whole
		return c.publishFragment(ctx, request.Subject, request.reply, &request.Request)
	}
	request.waiting.sendInFragments(&fragmentSender{Plan: plan, client: c, whole: request, taken: make(chan Peer, 1)})
	return c.publishFragment(ctx, request.Subject, request.reply, plan.Request(1, &request.Request, ""))
}

// publishFragment publishes one fragment. If it does not fit, the broker was replaced by another one meanwhile.
func (c *Client) publishFragment(ctx context.Context, to, reply string, part *wire.Request) error {
	fits, err := c.publish(ctx, to, reply, nil, part)
	if err == nil && !fits {
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, nats.ErrMaxPayload,
			"the broker's message limit changed to %d bytes while a large request was being sent", c.broker.MaxPayload())
	}
	return err
}

// Tell publishes a request that no caller waits for, outside of any chain of calls.
func (c *Client) Tell(ctx context.Context, request *Outgoing) error {
	if err := c.prepareStandalone(request); err != nil {
		return err
	}
	return c.Publish(ctx, request)
}

// prepareStandalone seals a request that is no part of a chain of calls: it has its own time budget and depth.
func (c *Client) prepareStandalone(request *Outgoing) error {
	if err := c.prepare(context.Background(), request); err != nil {
		return err
	}
	c.setAttemptHeaders(request, time.Now().Add(wire.DefaultTimeBudget))
	return nil
}

// PublishEvent seals an event, and runs carry, which publishes or stores it. The handlers of an event are not part of the call that
// publishes it: they have a whole time budget, and share only the depth, the actor and the trace of the chain.
func (c *Client) PublishEvent(ctx context.Context, event *Outgoing, carry func(context.Context) error) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	defer c.calls.Done()
	if ctx.Err() != nil {
		code := http.StatusServiceUnavailable
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			code = http.StatusGatewayTimeout
		}
		return status.Errorf(code, status.ExecutedNo, status.ContextEnded(ctx), "the context ended before the event was fired")
	}
	if err := c.prepare(ctx, event); err != nil {
		return err
	}
	if event.CallDepth > wire.MaxCallDepth {
		return status.Errorf(http.StatusLoopDetected, status.ExecutedNo, nil, "calls and events are nested more than %d deep", wire.MaxCallDepth)
	}
	c.setAttemptHeaders(event, time.Now().Add(wire.DefaultTimeBudget))
	return carry(ctx)
}

// cancelPath is where an instance learns that no caller waits for an answer any more.
const cancelPath = "/cancel"

// cancelAll notifies the instances that have acked a request that its caller has stopped waiting. It waits for no answer: delivery makes
// no difference to the caller. An instance whose ack comes later is not notified.
func (c *Client) cancelAll(ctx context.Context, sent *Outgoing, from []Peer) {
	for _, at := range from {
		if err := c.cancel(ctx, sent.MsgID, at); err != nil {
			c.log(c.config.Logger.Debug().Err(err).Str("msgId", sent.MsgID).Str("callee", at.ID+"."+at.Host), "cancel was not sent")
		}
	}
}

func (c *Client) cancel(ctx context.Context, msgID string, at Peer) error {
	request, err := NewOutgoing(http.MethodPost, &url.URL{
		Scheme: "https", Host: at.ID + "." + at.Host + ":" + strconv.Itoa(subject.ControlPort), Path: cancelPath,
		RawQuery: url.Values{"id": {msgID}}.Encode(),
	}, nil, nil)
	if err == nil {
		err = c.prepareStandalone(&request)
	}
	if err != nil {
		return err
	}
	return c.send(ctx, &request)
}
