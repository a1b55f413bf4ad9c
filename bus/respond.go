package bus

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// logAndEncode turns an error into the response for a request, and logs it.
func (c *Conn) logAndEncode(in *serverCall, err error) *wire.Response {
	failed := c.completeError(in, err)
	line := c.logger.WithLevel(in.levelOf(failed)).EmbedObject(requestFields{callFields{&in.Exchange, failed.Status}}).
		EmbedObject(failureFields{failed.Detail, failed.Type})
	if handler, ok := errors.AsType[*crashed](err); ok {
		line = line.Bytes("stack", handler.stack)
	}
	if in.conn != nil { // on the goroutine of its handler
		c.shared.lines.Protect(func() { line.Msg("request failed") })
	} else {
		c.log(line, "request failed")
	}
	return failed.response()
}

// completeError completes an error: it names the path, and this instance unless another one failed.
func (c *Conn) completeError(in *serverCall, err error) *Error {
	failed := *asError(err)
	failed.TraceID = in.traceID
	failed.sentBy(c, in.Request)
	if failed.Path == "" {
		failed.Path = in.Address.Path
	}
	c.logLeftOut(&failed)
	return &failed
}

// logLeftOut tells the author of a handler which details of its error do not reach the caller, which no other line does.
func (c *Conn) logLeftOut(failed *Error) {
	if failed.leftOut != "" {
		c.log(c.logger.Warn().Str("msgId", failed.MsgID).Str("path", failed.Path).Str("reason", failed.leftOut),
			"details of an error left out")
	}
}

// notServedError tells a caller that has reached this instance what it should have asked for.
func (c *Conn) notServedError(address subject.Address) error {
	return notFoundError(address, c.router.methods(address.Port, address.Path))
}

// notFoundError is the error for a path of a host that is there: 405 with what is served, or 404.
func notFoundError(address subject.Address, methods []string) *Error {
	if len(methods) == 0 {
		return newError(http.StatusNotFound, ExecutedNo, nil, "%s serves nothing at %s on port %d", address.Host, address.Path, address.Port)
	}
	allow := strings.Join(methods, ", ")
	refused := newError(http.StatusMethodNotAllowed, ExecutedNo, nil, "%s is served under %s, not %s", address.Path, allow, address.Method)
	refused.allow = allow
	return refused
}

// acknowledge tells the caller that its request has arrived, before any queueing.
func (c *Conn) acknowledge(in *serverCall) {
	ack := c.broker.Response()
	ack.Status, ack.OpCode = http.StatusAccepted, wire.OpAck
	if err := c.reply(in, ack); err != nil {
		c.logLost(in, "ack", err)
	}
	c.broker.FreeResponse(ack) // no code keeps it
}

// limitResponseSize is the [Interceptor] that makes an error of a response that is too large, as those that stand around have to see it as
// its caller does.
func (c *Conn) limitResponseSize(next CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) error {
		err := next(ctx, x)
		if err == nil && x.Response != nil {
			if tooLarge := c.limitResponse(x.Response); tooLarge != nil {
				return cannotBeSent(tooLarge)
			}
		}
		return err
	}
}

// limitResponse refuses what is too large for this connection, or for any.
func (c *Conn) limitResponse(response *wire.Response) error {
	if err := fragment.CheckHead(0, response.Header); err != nil {
		return err
	}
	return fragment.CheckBody(response.Body, c.maxMessage)
}

// cannotBeSent is what the caller gets in place of a response that is too large: it has not made it so.
func cannotBeSent(why error) *Error {
	return newError(http.StatusInternalServerError, ExecutedYes, nil, "the response cannot be sent: %s", asError(why).Detail)
}

// respond sends the response. One that the broker will not carry is replaced by one that says so.
func (c *Conn) respond(in *serverCall, response *wire.Response) {
	response.OpCode = wire.OpRes
	err := c.reply(in, response)
	switch StatusOf(err) {
	case http.StatusRequestHeaderFieldsTooLarge, http.StatusRequestEntityTooLarge:
		response = c.logAndEncode(in, cannotBeSent(err))
		response.OpCode = wire.OpRes
		err = c.reply(in, response)
	}
	if err != nil {
		c.logLost(in, "response", err)
	}
}

func (c *Conn) logLost(in *serverCall, what string, err error) {
	level := zerolog.WarnLevel
	if in.Address.Port == subject.ControlPort {
		level = zerolog.DebugLevel // hardly any caller waits for it
	}
	c.log(c.limitedLine(level, what+": "+err.Error()).Str("msgId", in.Request.MsgID).Str("caller", in.Request.FromHost).Err(err), what+" lost")
}

// responseHeads are what the acks and the ordinary responses of one queue begin with.
type responseHeads struct {
	made          sync.Once
	ack, response *wire.ResponseHead
}

// headOf returns what a response begins with like others; nil when that is not known.
func (c *Conn) headOf(in *serverCall, response *wire.Response) *wire.ResponseHead {
	if !in.found() {
		return nil
	}
	heads := &c.heads[0]
	if !in.endpoint.queue {
		heads = &c.heads[1]
	}
	heads.made.Do(func() {
		model := wire.Response{Status: http.StatusAccepted, OpCode: wire.OpAck, FromHost: c.host, FromID: c.id, Queue: in.endpoint.queueName(c)}
		heads.ack = wire.NewResponseHead(&model)
		model.Status, model.OpCode, model.Header = http.StatusOK, wire.OpRes, jsonContent()
		heads.response = wire.NewResponseHead(&model)
	})
	if response.OpCode == wire.OpAck {
		return heads.ack
	}
	return heads.response
}

func (c *Conn) reply(in *serverCall, response *wire.Response) error {
	response.FromHost, response.FromID, response.MsgID, response.Queue = c.host, c.id, in.Request.MsgID, c.host
	if in.found() {
		response.Queue = in.endpoint.queueName(c)
	}
	if err := c.limitResponse(response); err != nil {
		return err
	}
	return in.back.reply(in, c.headOf(in, response), response)
}

// awaitBroker holds a response back while the broker is away, and until its caller may be back, too, for as long as that waits
// for one.
func (c *Conn) awaitBroker(in *serverCall) {
	if in.backTo == "" || !c.broker.WasAwaySince(in.began) {
		return
	}
	ctx, cancel := context.WithDeadline(c.base, in.serving.Ends)
	defer cancel()
	c.broker.AwaitReturn(ctx) // while there is no broker the response is lost, and respond logs it
}

// replier carries acks and responses back to the instances that sent the requests.
type replier interface {
	// reply sends a response. head is its prepared beginning, nil for none.
	reply(to *serverCall, head *wire.ResponseHead, response *wire.Response) error
}

// brokerReplier answers on the response subjects of the senders.
type brokerReplier struct{ broker *natsconn.Conn }

// reply answers a request.
func (b brokerReplier) reply(to *serverCall, head *wire.ResponseHead, response *wire.Response) error {
	sent, err := b.publishResponse(to, head, response)
	if !sent && err == nil {
		return b.replyInParts(to, response)
	}
	return err
}

// publishResponse publishes an ack, a response, or a fragment of one; fits is false if it is too large for one message. The response of a handler waits for room until the time of
// its request is over. Others come from the goroutine that takes messages in, and wait for nothing.
func (b brokerReplier) publishResponse(to *serverCall, head *wire.ResponseHead, response *wire.Response) (fits bool, err error) {
	if b.broker.Exceeds(len(response.Body)) {
		return false, nil
	}
	buffer := b.broker.Buffer()
	if head != nil {
		*buffer = head.AppendResponse((*buffer)[:0], response)
	} else {
		*buffer = wire.AppendResponse((*buffer)[:0], response)
	}
	if response.OpCode == wire.OpAck || to.conn == nil {
		return b.broker.SendNow(to.backTo, buffer)
	}
	left := time.Until(to.serving.Ends)
	return b.broker.Send(to.conn.base, left, to.backTo, "", buffer)
}

// replyInParts sends a response that does not fit one message.
func (b brokerReplier) replyInParts(to *serverCall, response *wire.Response) error {
	cut, err := fragment.PlanResponse(response, b.broker.MaxPayload())
	if err != nil {
		return err
	}
	for number := 1; number <= cut.Count; number++ {
		fits, err := b.publishResponse(to, nil, cut.Response(number, response))
		if err == nil && !fits {
			err = status.Errorf(http.StatusServiceUnavailable, status.ExecutedYes, nats.ErrMaxPayload,
				"the broker's message limit changed to %d bytes while a large response was being sent", b.broker.MaxPayload())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
