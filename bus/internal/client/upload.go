package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/wire"
)

// upload is a request whose body comes in parts: the first one with the request, the others after an ack. The number of
// parts is known if the body is in memory; else the body is a stream. All methods but acked take a nil upload, for a
// request in one message.
type upload struct {
	client   *Client
	sent     *Outgoing
	call     *pendingCall
	plan     stream.Plan    // of a body in memory; the zero value for a stream
	takers   chan Peer      // passes receiver to the caller; buffer of one
	writer   *stream.Writer // of a stream; nil until an instance has acked. The slot's lock protects it
	receiver Peer           // the first instance to ack, which gets the other parts; the slot's lock protects it
	window   int64          // of the receiver; the slot's lock protects it
	begun    bool           // the other parts of a stream are being sent; used by the caller alone
	ended    bool           // the last part of a body in memory was sent; used by the caller alone
}

// newUpload prepares to send the body of a request in parts, before part 1 is sent.
func (c *Client) newUpload(request *Outgoing, plan stream.Plan) {
	s := request.waiting
	u := &upload{client: c, sent: request, call: s, plan: plan, takers: make(chan Peer, 1)}
	s.mu.Lock()
	s.upload = u
	s.mu.Unlock()
}

func (u *upload) isStream() bool { return u.plan.Count == 0 }

// publishParts publishes part 1 of a request that does not fit into one message.
func (c *Client) publishParts(ctx context.Context, request *Outgoing) error {
	payload := c.broker.MaxPayload()
	if request.waiting == nil {
		return status.NotRun(http.StatusRequestEntityTooLarge, nats.ErrMaxPayload,
			"a multicast request must fit into one broker message of at most %d bytes; its body has %d bytes", payload,
			len(request.Body))
	}
	plan, err := stream.PlanRequest(&request.Request, payload)
	if err != nil {
		return err
	}
	first := request.Request
	// else a broker with a smaller limit has refused the request, and another one has replaced that broker
	if plan.Count > 1 {
		c.newUpload(request, plan)
		first.Fragment, first.Body = wire.Fragment{Number: 1, Count: plan.Count}, request.Body[:plan.First]
	}
	return c.publishPart(ctx, request.Subject, request.reply, &first)
}

// publishStream publishes part 1 of a request that is a stream.
func (c *Client) publishStream(ctx context.Context, request *Outgoing) error {
	first := request.Request
	first.Fragment, first.Body = wire.Fragment{Number: 1}, nil
	room := stream.SizeOfParts(len(wire.AppendRequest(nil, &first)), c.broker.MaxPayload())
	if room < 1 {
		return status.NotRun(http.StatusRequestHeaderFieldsTooLarge, nats.ErrMaxPayload,
			"the head of the request does not fit into a message of the broker, whose limit is %d bytes", c.broker.MaxPayload())
	}
	if body := request.Body; len(body) > room {
		request.Body, request.Stream = body[:room], wire.Unread(body[room:], request.Stream)
	}
	first.Body = request.Body
	return c.publishPart(ctx, request.Subject, request.reply, &first)
}

// publishPart publishes one part. A part that does not fit was planned for the limit of an earlier broker.
func (c *Client) publishPart(ctx context.Context, to, reply string, part *wire.Request) error {
	fits, err := c.publish(ctx, to, reply, nil, part)
	if err == nil && !fits {
		return status.NotRun(http.StatusServiceUnavailable, nats.ErrMaxPayload,
			"the broker's message limit changed to %d bytes while a large request was being sent", c.broker.MaxPayload())
	}
	return err
}

// acked takes an ack. The caller holds the slot's lock.
func (u *upload) acked(from Peer, window int64) {
	isFirst := u.receiver == (Peer{})
	if isFirst {
		u.receiver = from
	}
	if u.receiver != from {
		return
	}
	opens := u.window == 0 && window > 0
	u.window = max(u.window, window)
	switch {
	case u.writer != nil:
		u.writer.Open(window)
	case u.isStream() && opens, !u.isStream() && isFirst: // a receiver without a window takes no stream
		u.takers <- from
	}
}

// takerChan returns the channel for the instance that takes the other parts.
func (u *upload) takerChan() <-chan Peer {
	if u == nil {
		return nil
	}
	return u.takers
}

// begin sends the other parts: a body in memory at once, until the call ends, a stream on a goroutine of its own.
func (u *upload) begin(ctx context.Context, receiver Peer, ends time.Time) error {
	send, size, err := u.sender(ctx, receiver)
	if err != nil {
		return status.Unsent(err)
	}
	if u.isStream() {
		u.beginStream(ctx, send, size)
		return nil
	}
	writer := u.plan.Writer(ctx, u.plan.First, func(number wire.Fragment, body []byte) error {
		if u.call.hasEnded(ctx, ends) {
			return errAnswered
		}
		return send(number, body)
	})
	err = writer.CloseWith(u.sent.Body[u.plan.First:])
	if u.ended = err == nil; !u.ended && !u.call.hasEnded(ctx, ends) {
		return status.Unsent(err) // the receiver lacks a part
	}
	return nil
}

func (u *upload) beginStream(ctx context.Context, send func(wire.Fragment, []byte) error, size int) {
	u.call.mu.Lock()
	defer u.call.mu.Unlock()
	u.writer = stream.NewWriter(stream.WriterConfig{
		Context: ctx, Send: send, Keeps: u.sent.Local, PartSize: size, Window: u.window, First: len(u.sent.Body),
		Budget: u.sent.TimeBudget,
		Held:   u.client.pending.memory.Reserve(""),
		Failed: func(err error) { u.call.fail(status.Doubtful(err)) }, // the handler runs since part 1
	})
	u.begun = true
	go u.pump()
}

// sender returns how parts reach the instance that has acked part 1, and how large they may be.
func (u *upload) sender(ctx context.Context, receiver Peer) (send func(wire.Fragment,
	[]byte) error, size int, err error) {
	part := u.sent.Request
	part.Header, part.Body, part.Stream, part.ContentLength, part.CallerProof = nil, nil, nil, 0, ""
	if u.sent.Local {
		return func(number wire.Fragment, body []byte) error {
			part.Fragment, part.Body = number, body
			u.client.config.DeliverPart(u.sent, &part)
			return nil
		}, stream.LocalPartSize, nil
	}
	there := u.sent.Address
	there.Host = receiver.ID + "." + receiver.Host
	to, err := there.Subject(u.client.config.Plane)
	if err != nil {
		return nil, 0, err
	}
	part.Host, part.Fragment = there.Host, wire.Fragment{Number: stream.MaxParts}
	size = max(stream.SizeOfParts(len(wire.AppendRequest(nil, &part)), u.client.broker.MaxPayload()), 1)
	return func(number wire.Fragment, body []byte) error {
		part.Fragment, part.Body = number, body
		return u.client.publishPart(ctx, to, u.sent.reply, &part)
	}, size, nil
}

// pieceSize is how much of a body is read at once, in bytes.
const pieceSize = 32 << 10

// pump sends the body.
func (u *upload) pump() {
	defer u.writer.Free()
	buffer := make([]byte, pieceSize)
	for {
		n, err := u.sent.Stream.Read(buffer)
		var failed error
		if u.sent.Local && n > len(buffer)/2 { // the other side keeps it
			failed = u.writer.Give(buffer[:n])
			buffer = make([]byte, pieceSize)
		} else {
			_, failed = u.writer.Write(buffer[:n])
		}
		if failed != nil {
			return // the call has the error
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = u.writer.Close()
			return
		case err != nil:
			u.writer.Fail(status.MayHaveRun(http.StatusBadRequest, err, "the request body cannot be read: %s", err))
			return
		case n < len(buffer):
			_ = u.writer.Flush()
		}
	}
}

// errStreamRefused is the error of an attempt whose body is a stream, at an instance that takes none. No handler has
// seen it, and all of the body but part 1 is still to be read.
var errStreamRefused = errors.New("the instance takes no stream")

// hasRefusedStream reports whether a response says that its instance, the only one to ack, takes no stream: it has
// opened no window, and does not understand the number of part 1.
func (s *pendingCall) hasRefusedStream(response *wire.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return response.Status == http.StatusBadRequest && response.Stream == nil && len(s.acks) == 1 &&
		s.upload.isStream() && s.upload.window == 0 && s.upload.receiver == SenderOf(response)
}

// attemptWhole sends a request again whose body was refused as a stream: from memory, in parts of a known number. It
// returns when the time budget ends, which begins with the last byte of the body.
func (c *Client) attemptWhole(ctx context.Context, request *Outgoing) (ends time.Time, _ *wire.Response, _ error) {
	held := c.pending.memory.Reserve("")
	defer held.Free()
	if err := c.readStream(ctx, request, &held); err != nil {
		return ends, nil, err
	}
	ends = time.Now().Add(callctx.Budget(ctx))
	response, err := c.attempt(ctx, request, ends)
	return ends, response, err
}

// readStream reads the rest of a body that is a stream into memory, and closes it.
func (c *Client) readStream(ctx context.Context, request *Outgoing, held *stream.Reservation) (err error) {
	body, limit := request.Stream, c.config.MaxMessage
	end := func() { _ = body.Close() }
	defer end()
	defer context.AfterFunc(ctx, end)()
	defer context.AfterFunc(c.config.Base, end)()
	var whole []byte
	if request.ContentLength > int64(limit) {
		err = stream.TooLarge(request.ContentLength, limit)
	} else {
		whole, err = stream.ReadAll(wire.Unread(request.Body, body), limit, held)
	}
	failed, hasStatus := errors.AsType[*status.Error](err)
	switch {
	case err == nil:
		request.Body, request.Stream, request.ContentLength = whole, nil, 0
		return nil
	case ctx.Err() != nil:
		return status.TooLate(ctx, 0)
	case hasStatus:
		return status.NotRun(failed.Status, err, "%s takes no stream, as versions before streams do: %s",
			request.Address.Host, failed.Detail)
	default:
		return status.NotRun(http.StatusBadRequest, err, "the request body cannot be read: %s", err)
	}
}

// extend returns when the wait for the response ends: the time budget counts from the latest part, or sign of the
// instance.
func (u *upload) extend(ends time.Time, budget time.Duration) time.Time {
	if u == nil || !u.begun {
		return ends
	}
	if later := u.writer.ActiveAt().Add(budget); later.After(ends) {
		return later
	}
	return ends
}

// errAnswered ends what is left of a request that was answered.
var errAnswered = errors.New("the call has ended")

// stop sends no more. The caller closes the body.
func (u *upload) stop() {
	if u != nil && u.begun {
		u.writer.Stop(errAnswered)
	}
}

// isIncomplete reports whether a part of a body in memory is still to be sent, so that no handler has seen the request.
func (u *upload) isIncomplete() bool { return u != nil && !u.isStream() && !u.ended }
