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

// Publish publishes a prepared request. Its reply subject is only for the broker's notice that no instance subscribes: acks and responses
// come to the response subject. After an error nothing was sent.
func (c *Client) Publish(ctx context.Context, request *Outgoing) error {
	fits, err := c.publish(ctx, request.Subject, request.reply, request.Head, &request.Request)
	if !fits && err == nil {
		return c.publishFragments(ctx, request)
	}
	return err
}

// newReply returns a reply subject and its last token, which is the message id: 26 characters with 130 random bits.
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

// publish publishes a request, or a fragment of a request. fits reports whether one message has room for it. head, if it is not nil, is
// the beginning that all requests of an operation have in common.
func (c *Client) publish(ctx context.Context, to, reply string, head *wire.RequestHead, request *wire.Request) (fits bool, err error) {
	if c.broker.Exceeds(len(request.Body)) { // no need to encode it
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

// publishFragments publishes the first fragment. The others follow after an ack of the first: see [pendingCall.publishFollowing].
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
	if plan.Count == 1 { // a broker with a smaller limit has refused the request, and another one has replaced that broker
		return c.publishFragment(ctx, request.Subject, request.reply, &request.Request)
	}
	request.waiting.sendInFragments(&fragmentSender{Plan: plan, client: c, whole: request, taken: make(chan Peer, 1)})
	return c.publishFragment(ctx, request.Subject, request.reply, plan.Request(1, &request.Request, ""))
}

// publishFragment publishes one fragment. A fragment that does not fit was planned for the limit of an earlier broker.
func (c *Client) publishFragment(ctx context.Context, to, reply string, part *wire.Request) error {
	fits, err := c.publish(ctx, to, reply, nil, part)
	if err == nil && !fits {
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, nats.ErrMaxPayload,
			"the broker's message limit changed to %d bytes while a large request was being sent", c.broker.MaxPayload())
	}
	return err
}

// Tell publishes a request without waiting for an answer, outside of any chain of calls.
func (c *Client) Tell(ctx context.Context, request *Outgoing) error {
	if err := c.prepareStandalone(request); err != nil {
		return err
	}
	return c.Publish(ctx, request)
}

// prepareStandalone prepares a request outside of any chain of calls: the request has its own time budget and depth.
func (c *Client) prepareStandalone(request *Outgoing) error {
	if err := c.prepare(context.Background(), request); err != nil {
		return err
	}
	c.setAttemptHeaders(request, time.Now().Add(wire.DefaultTimeBudget))
	return nil
}

// PublishEvent prepares an event, and runs carry, which publishes or stores the event. The handlers of an event do not belong to the
// call that publishes the event: they have a whole time budget, and share only the depth, the actor and the trace of the chain.
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

// cancelPath is the path of the request that cancels a call at an instance.
const cancelPath = "/cancel"

// cancelAll notifies the instances that have acked a request that the caller has stopped waiting, and waits for no answer. An instance
// whose ack comes later is not notified.
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
