package bus

import (
	"errors"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/wire"
)

// A broker with allow_responses lets a service publish to the reply subject of what it was handed, and to nothing else:
// so only who got a request can answer it. A request's reply subject is <response subject>.<message id>, where its sender
// listens anyway, to hear from the broker that nobody is there.

// WithAllowResponses answers each request on the request's own reply subject, for a plane whose broker enforces
// permissions with allow_responses: the stricter profile of docs/permissions.md. The broker permits an instance to
// answer there only what it was handed, and the connection accepts answers to its own calls only there, so they can
// only come from the instance that was given the call. All services of a plane have to use the option: one that answers
// on the response subject is not heard. Default: acks and responses travel to the response subject.
func WithAllowResponses() ConnectOption {
	return func(c *connectConfig) { c.allowResponses = true }
}

// backTo returns the subject on which a request is to be answered, for a sender that listens on response.
func (c *Conn) backTo(response string, request *wire.Request, message *nats.Msg) string {
	if c.allowResponses && joins(message.Reply, response, request.MsgID) {
		return message.Reply // never another one: it would be answered in our name
	}
	return response
}

var (
	errForgeable = errors.New("a connection with bus.WithAllowResponses accepts no answer on its response subject; " +
		"the service that answers must use that option, too")
	errOtherMessage = errors.New("the message id of the answer is not the last token of the subject that it was published to")
)

// rightPlace says what is wrong with the subject on which an ack or a response has come.
func (c *Conn) rightPlace(response *wire.Response, published string) error {
	switch {
	case joins(published, c.nats.response, response.MsgID):
		return nil
	case published != c.nats.response:
		return errOtherMessage
	case c.allowResponses:
		return errForgeable
	default:
		return nil
	}
}
