package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/wire"
)

// natsTransport carries messages over the broker, as text.
type natsTransport struct {
	link     *link
	plane    string
	response string // the response subject of this instance
}

// send publishes with a reply subject of the request's own, on which the broker tells when nobody subscribes.
// Acks and responses come to the response subject all the same.
func (t *natsTransport) send(ctx context.Context, request *outgoing) error {
	sent, err := t.publishRequest(ctx, request.subject, request.reply, request.head, &request.Request)
	if !sent && err == nil {
		return t.sendInParts(ctx, request)
	}
	return err
}

// newReply returns a reply subject, and the message id that it ends with: 26 characters with 130 random bits.
func (t *natsTransport) newReply() (reply, msgID string) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var id [26]byte
	_, _ = rand.Read(id[:]) // it never fails
	for i, chance := range id {
		id[i] = alphabet[chance%32]
	}
	buffer := make([]byte, 0, 256)
	buffer = append(append(append(buffer, t.response...), '.'), id[:]...)
	reply = string(buffer)
	return reply, reply[len(t.response)+1:]
}

// reply answers a request on the response subject of its sender.
func (t *natsTransport) reply(to *incoming, head *wire.ResponseHead, response *wire.Response) error {
	sent, err := t.publishResponse(to, head, response)
	if !sent && err == nil {
		return t.replyInParts(to, response)
	}
	return err
}

// publishRequest publishes a request, or a part of one; fits is false if it is too large for one message. A prepared head,
// if there is one, saves writing what is the same for all requests of an operation.
func (t *natsTransport) publishRequest(ctx context.Context, to, reply string, head *wire.RequestHead, request *wire.Request) (fits bool, err error) {
	if t.link.refuses(len(request.Body)) { // it is not even written
		return false, nil
	}
	buffer := unused[[]byte](&t.link.spare.buffers)
	if head != nil {
		*buffer = head.AppendRequest((*buffer)[:0], request)
	} else {
		*buffer = wire.AppendRequest((*buffer)[:0], request)
	}
	return t.published(buffer, t.link.publish(ctx, request.TimeBudget, to, reply, *buffer))
}

// publishResponse does so with an ack, a response, or a part of one. The response of a handler waits for room until the time of
// its request is over. Others come from the goroutine that takes messages in, and wait for nothing.
func (t *natsTransport) publishResponse(to *incoming, head *wire.ResponseHead, response *wire.Response) (fits bool, err error) {
	if t.link.refuses(len(response.Body)) {
		return false, nil
	}
	buffer := unused[[]byte](&t.link.spare.buffers)
	if head != nil {
		*buffer = head.AppendResponse((*buffer)[:0], response)
	} else {
		*buffer = wire.AppendResponse((*buffer)[:0], response)
	}
	if response.OpCode == wire.OpAck || to.serving.conn == nil {
		return t.published(buffer, t.link.publishNow(to.backTo, "", *buffer))
	}
	left := time.Until(to.serving.deadline)
	return t.published(buffer, t.link.publish(to.serving.conn.base, left, to.backTo, "", *buffer))
}

// maxPooled is the largest buffer that is kept for the next message.
const maxPooled = 1 << 20

// published takes the outcome of publishing the content of a buffer, which is used again; fits is false if it was too large for one
// message of the broker.
func (t *natsTransport) published(buffer *[]byte, err error) (fits bool, _ error) {
	if cap(*buffer) <= maxPooled {
		t.link.spare.buffers.Put(buffer)
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return false, nil
	}
	return err == nil, err
}
