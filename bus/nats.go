package bus

import (
	"crypto/rand"
	"errors"

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
func (t *natsTransport) send(request *outgoing) error {
	sent, err := t.publishRequest(request.subject, request.reply, request.head, &request.Request)
	if !sent && err == nil {
		return t.sendInParts(request)
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
	sent, err := t.publishResponse(to.backTo, head, response)
	if !sent && err == nil {
		return t.replyInParts(to.backTo, response)
	}
	return err
}

// publishRequest publishes a request, or a part of one; fits is false if it is too large for one message. A prepared head,
// if there is one, saves writing what is the same for all requests of an operation.
func (t *natsTransport) publishRequest(to, reply string, head *wire.RequestHead, request *wire.Request) (fits bool, err error) {
	if t.link.refuses(len(request.Body)) { // it is not even written
		return false, nil
	}
	buffer := unused[[]byte](&t.link.spare.buffers)
	if head != nil {
		*buffer = head.AppendRequest((*buffer)[:0], request)
	} else {
		*buffer = wire.AppendRequest((*buffer)[:0], request)
	}
	return t.publish(to, reply, buffer)
}

// publishResponse does so with an ack, a response, or a part of one.
func (t *natsTransport) publishResponse(to string, head *wire.ResponseHead, response *wire.Response) (fits bool, err error) {
	if t.link.refuses(len(response.Body)) {
		return false, nil
	}
	buffer := unused[[]byte](&t.link.spare.buffers)
	if head != nil {
		*buffer = head.AppendResponse((*buffer)[:0], response)
	} else {
		*buffer = wire.AppendResponse((*buffer)[:0], response)
	}
	return t.publish(to, "", buffer)
}

// maxPooled is the largest buffer that is kept for the next message.
const maxPooled = 1 << 20

// publish sends the content of a buffer; fits is false if it is too large for one message of the broker.
func (t *natsTransport) publish(to, reply string, buffer *[]byte) (fits bool, err error) {
	err = t.link.publish(to, reply, *buffer)
	if cap(*buffer) <= maxPooled {
		t.link.spare.buffers.Put(buffer)
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return false, nil
	}
	return err == nil, err
}
