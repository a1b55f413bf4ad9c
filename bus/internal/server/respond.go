package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/wire"
)

// acknowledge sends the caller an ack for its request, before any queueing.
func (s *Server) acknowledge(in *Incoming) {
	ack := s.Broker.Response()
	ack.Status, ack.OpCode = http.StatusAccepted, wire.OpAck
	if in.stream != nil {
		ack.Window = in.stream.opened
	}
	if err := s.reply(in, ack); err != nil {
		s.Service.Lost(in, "ack", err)
	}
	s.Broker.FreeResponse(ack) // no code keeps it
}

// reject answers a request that is not handled.
func (s *Server) reject(in *Incoming, why error) { s.respond(in, s.Service.Reject(in, why)) }

// respond sends the response. It replaces a response that is too large to be sent.
func (s *Server) respond(in *Incoming, response *wire.Response) {
	response.OpCode = wire.OpRes
	if in.stream != nil && in.stream.response != nil && !s.endResponseStream(in, response) {
		return
	}
	err := s.reply(in, response)
	if err == nil {
		return
	}
	switch status.Of(err).Status {
	case http.StatusRequestHeaderFieldsTooLarge, http.StatusRequestEntityTooLarge:
		response = s.Service.Unsendable(in, err)
		response.OpCode = wire.OpRes
		err = s.reply(in, response)
	}
	if err != nil {
		s.Service.Lost(in, "response", err)
	}
}

// LimitResponse returns an error for a response that is too large for this connection, or for any.
func (s *Server) LimitResponse(response *wire.Response) error {
	if err := stream.CheckHead(0, response.Header); err != nil {
		return err
	}
	return s.checkBody(response.Body)
}

// reply completes and sends an ack or a response.
func (s *Server) reply(in *Incoming, response *wire.Response) error {
	response.FromHost, response.FromID, response.MsgID, response.Queue = s.Host, s.ID, in.Request.MsgID, s.Host
	if in.IsFound() {
		response.Queue = s.queueName(in.Endpoint)
	}
	return in.Replier.Reply(in, s.headOf(in, response), response)
}

// responseHeads are the prepared heads of the acks and the usual responses of one queue.
type responseHeads struct {
	once          sync.Once
	ack, response *wire.ResponseHead
}

// headOf returns the prepared head for an ack or a response; nil if the request has no endpoint.
func (s *Server) headOf(in *Incoming, response *wire.Response) *wire.ResponseHead {
	if !in.IsFound() {
		return nil
	}
	heads := &s.heads[0]
	if !in.Endpoint.Queue {
		heads = &s.heads[1]
	}
	heads.once.Do(func() {
		model := wire.Response{Status: http.StatusAccepted, OpCode: wire.OpAck, FromHost: s.Host, FromID: s.ID,
			Queue: s.queueName(in.Endpoint)}
		heads.ack = wire.NewResponseHead(&model)
		model.Status, model.OpCode = http.StatusOK, wire.OpRes
		model.Header = wire.Header{{Name: "Content-Type", Value: "application/json"}}
		heads.response = wire.NewResponseHead(&model)
	})
	if response.OpCode == wire.OpAck {
		return heads.ack
	}
	return heads.response
}

// awaitBroker waits until the broker is back, and the caller has had time to reconnect, too, but at most for the time
// budget. If the broker stays away, respond reports the response as lost.
func (s *Server) awaitBroker(in *Incoming) {
	if in.ReplyTo == "" || !s.Broker.WasAwaySince(in.Began) {
		return
	}
	ends, limited := in.Handler.Deadline()
	if !limited { // of a stream, which the outage has ended; its caller gets the error
		ends = time.Now().Add(in.Request.TimeBudget)
	}
	ctx, cancel := context.WithDeadline(s.Base, ends)
	defer cancel()
	s.Broker.AwaitReturn(ctx)
}

// brokerReplier answers on the response subjects of the senders.
type brokerReplier struct{ broker *natsconn.Conn }

// Reply answers a request.
func (b brokerReplier) Reply(to *Incoming, head *wire.ResponseHead, response *wire.Response) error {
	fits, err := b.publish(to, head, response)
	if !fits && err == nil {
		return b.publishParts(to, response)
	}
	return err
}

// publish publishes an ack, a response, or a part of a response; fits reports whether it fits into one message. If the
// send buffer is full, the response of an admitted request waits until the end of the time budget. Other messages do
// not wait, as the dispatcher sends them.
func (b brokerReplier) publish(to *Incoming, head *wire.ResponseHead, response *wire.Response) (fits bool, err error) {
	if b.broker.Exceeds(len(response.Body)) {
		return false, nil
	}
	within := func() time.Duration {
		if ends, limited := to.Handler.Deadline(); limited {
			return time.Until(ends)
		}
		return to.Request.TimeBudget // of a part of a stream
	}
	if len(response.Body) >= natsconn.Large && to.IsAdmitted() {
		return b.broker.SendLarge(to.server.Base, within(), to.ReplyTo, "", func(buffer []byte) []byte {
			return wire.AppendResponse(buffer, response)
		})
	}
	buffer := b.broker.Buffer()
	if head != nil {
		*buffer = head.AppendResponse((*buffer)[:0], response)
	} else {
		*buffer = wire.AppendResponse((*buffer)[:0], response)
	}
	if response.OpCode == wire.OpAck || !to.IsAdmitted() {
		return b.broker.SendNow(to.ReplyTo, buffer)
	}
	return b.broker.Send(to.server.Base, within(), to.ReplyTo, "", buffer)
}

// publishParts publishes a response that does not fit into one message.
func (b brokerReplier) publishParts(to *Incoming, response *wire.Response) error {
	plan, err := stream.PlanResponse(response, b.broker.MaxPayload())
	if err != nil {
		return err
	}
	part := *response
	return plan.Writer(context.Background(), stream.Unsent, func(number wire.Fragment, body []byte) error {
		part.Fragment, part.Body = number, body
		fits, err := b.publish(to, nil, &part)
		if err == nil && !fits {
			err = status.HasRun(http.StatusServiceUnavailable, nats.ErrMaxPayload,
				"the broker's message limit changed to %d bytes while a large response was being sent", b.broker.MaxPayload())
		}
		part.Header = nil // only part 1 has the header of the handler
		return err
	}).CloseWith(response.Body)
}
