package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// incoming is a response that is a stream. Its slot stays open until the stream ends.
type incoming struct {
	client *Client
	from   Peer
	reader *stream.Reader
	probe  *probe // asks the broker whether the instance is there

	mu       sync.Mutex // protects all below
	msgID    string
	local    bool
	budget   time.Duration // longest time without a part
	received int64         // bytes, at the latest look
	next     time.Duration // until the next look
	timer    *time.Timer   // of the next look; nil before follow
	unfollow []func() bool // what ends with the stream
	ended    bool
	err      error // why it has ended; nil for the last part
}

// streamOf returns the stream that a part belongs to, which it may begin; nil if the part is no part of a stream. taken reports whether it was dealt
// with.
func (p *pending) streamOf(part *wire.Response) (in *incoming, taken bool) {
	at := p.shard(part.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s, isCall := at.slots[part.MsgID].(*pendingCall)
	if !isCall || !s.expects(part) {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.incoming != nil && s.incoming.from == SenderOf(part):
		return s.incoming, true
	case !part.Fragment.IsOpen() || s.response != nil || s.window == 0:
		return nil, false
	case part.Fragment.Number != 1:
		s.response = p.failedResponse(part, status.Errorf(http.StatusBadGateway, status.ExecutedUnknown, nil, "part 1 of the stream was lost on the way"))
		s.wakeLocked()
		return nil, true
	}
	in = &incoming{client: p.client, from: SenderOf(part)}
	var err error
	in.reader, err = stream.NewReader(stream.ReaderConfig{
		Open: in.open, Ended: in.end, Held: p.memory.Reserve(in.from.ID + "." + in.from.Host), Opened: int64(s.window),
	})
	if err != nil {
		s.response = p.failedResponse(part, err)
		s.wakeLocked()
		return nil, true
	}
	response := *part
	response.Fragment, response.Body, response.Stream = wire.Fragment{}, nil, in.reader
	s.incoming, s.response = in, &response
	s.wakeLocked()
	return in, true
}

// replaced ends the stream with a response that comes in its place: the error of a handler that has failed.
func (in *incoming) replaced(by *wire.Response) {
	if by.Status < http.StatusBadRequest {
		in.reader.Fail(status.Errorf(http.StatusBadGateway, status.ExecutedYes, nil, "the stream was replaced by another response, with status %d", by.Status))
		return
	}
	in.reader.Fail(&replacedError{by})
}

// replacedError is the error response that has ended a stream.
type replacedError struct{ response *wire.Response }

// Error returns the status.
func (e *replacedError) Error() string { return http.StatusText(e.response.Status) }

// ReplacementOf returns the error response that has ended a stream, nil if err is another error.
func ReplacementOf(err error) *wire.Response {
	if replaced, ok := errors.AsType[*replacedError](err); ok {
		return replaced.response
	}
	return nil
}

// open tells the instance how much it may send.
func (in *incoming) open(limit int64) {
	in.mu.Lock()
	msgID, local := in.msgID, in.local
	in.mu.Unlock()
	if msgID == "" {
		return // follow does it
	}
	c := in.client
	ack := &wire.Response{
		Status: http.StatusAccepted, OpCode: wire.OpAck, FromHost: c.config.Host, FromID: c.config.ID, MsgID: msgID, Queue: c.config.Host, Window: limit,
	}
	if local {
		c.config.OpenLocal(in.from, ack)
		return
	}
	to := subject.Response(c.config.Plane, in.from.Host, in.from.ID)
	buffer := c.broker.Buffer()
	*buffer = wire.AppendResponse((*buffer)[:0], ack)
	if _, err := c.broker.SendNow(to, buffer); err != nil { // the next part without a body asks again
		c.log(c.config.Logger.Debug().Err(err).Str("msgId", msgID), "the window of a stream was not sent")
	}
}

// follow watches over the stream until it ends, or ctx does.
func (in *incoming) follow(ctx context.Context, sent *Outgoing) {
	in.mu.Lock()
	in.msgID, in.local, in.budget, in.next = sent.MsgID, sent.Local, sent.TimeBudget, probeInterval
	if in.ended {
		in.mu.Unlock()
		in.finish(in.err)
		return
	}
	in.unfollow = append(in.unfollow,
		context.AfterFunc(ctx, func() {
			in.reader.Fail(stoppedReading(ctx, in.from.Host))
		}),
		context.AfterFunc(in.client.config.Base, func() {
			in.reader.Fail(status.Errorf(http.StatusServiceUnavailable, status.ExecutedYes, status.ErrClosed, "the connection was closed in the middle of a stream of %s", in.from.Host))
		}))
	in.timer = time.AfterFunc(in.next, in.look)
	in.mu.Unlock()
	in.reader.Reopen()
}

// stoppedReading is the error of a stream whose caller's context has ended.
func stoppedReading(ctx context.Context, host string) *status.Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return status.Errorf(http.StatusGatewayTimeout, status.ExecutedYes, errors.Join(status.ErrTimeout, status.ContextEnded(ctx)),
			"the caller's deadline came before the end of the stream of %s", host)
	}
	return status.Errorf(http.StatusServiceUnavailable, status.ExecutedYes, status.ContextEnded(ctx),
		"the caller stopped reading the stream of %s", host)
}

// look looks whether the instance and the broker are there. A stream that is idle is looked at less often.
func (in *incoming) look() {
	in.mu.Lock()
	err := in.lookLocked(time.Since(in.reader.HeardAt()))
	if err == nil && !in.ended {
		in.timer.Reset(min(in.next, in.budget))
	}
	in.mu.Unlock()
	if err != nil {
		in.reader.Fail(err)
	}
}

// longestLook is the longest time between two looks.
const longestLook = 5 * time.Second

func (in *incoming) lookLocked(silent time.Duration) error {
	c := in.client
	if silent >= in.budget {
		return status.Errorf(http.StatusGatewayTimeout, status.ExecutedYes, status.TimeBudgetSpent(), "nothing came of the stream of %s for %s", in.from.Host, in.budget)
	}
	if in.local {
		return nil
	}
	select {
	case <-c.broker.GraceExpired():
		return brokerAway(in.from.Host)
	default:
	}
	received := in.reader.Received()
	idle := received == in.received
	in.received = received
	if silent < probeInterval || idle && silent < longestLook {
		in.probe.end()
		in.probe, in.next = nil, probeInterval
		if idle {
			in.next = longestLook
		}
		return nil
	}
	if in.probe == nil {
		in.probe = c.newProbe()
	}
	lost, _ := in.probe.review()
	if len(lost) > 0 {
		return instanceLost(in.from, in.msgID)
	}
	in.probe.ask([]Peer{in.from})
	in.next = probeAgain // after a report of no responders, the next one decides
	return nil
}

// end is called once, when no more parts are to come.
func (in *incoming) end(err error) {
	in.mu.Lock()
	in.ended, in.err = true, err
	follows := in.timer != nil
	in.mu.Unlock()
	switch {
	case !follows:
	case err == nil:
		in.finish(nil)
	default:
		go in.finish(err) // it may block, and this may be the dispatcher
	}
}

// finish frees what the stream has used, and cancels one that did not come to its end.
func (in *incoming) finish(err error) {
	in.mu.Lock()
	if in.timer != nil {
		in.timer.Stop()
	}
	for _, stop := range in.unfollow {
		stop()
	}
	in.probe.end()
	in.mu.Unlock()
	in.client.pending.close(in.msgID)
	if err != nil && ReplacementOf(err) == nil {
		in.client.cancelAll(context.Background(), in.msgID, []Peer{in.from})
	}
	in.client.calls.Done()
}

// upload is a request that is a stream. All methods but acked take a nil upload for a request that is none.
type upload struct {
	client *Client
	sent   *Outgoing
	call   *pendingCall
	writer *stream.Writer // nil until an instance has acked; the slot's lock protects it
	taker  Peer           // the first instance to ack, which gets the other parts; the slot's lock protects it
	takers chan Peer      // passes taker to the caller; buffer of one
	window int64          // of the taker; the slot's lock protects it
	begun  bool           // used by the caller alone
}

// newUpload prepares to send the body of a request, before part 1 is sent.
func (c *Client) newUpload(request *Outgoing) {
	s := request.waiting
	u := &upload{client: c, sent: request, call: s, takers: make(chan Peer, 1)}
	s.mu.Lock()
	s.upload = u
	s.mu.Unlock()
}

// publishStream publishes the first part of a request that is a stream. The others follow after an ack of the first.
func (c *Client) publishStream(ctx context.Context, request *Outgoing) error {
	first := request.Request
	first.Fragment, first.Body = wire.Fragment{Number: 1}, nil
	room := stream.SizeOfParts(len(wire.AppendRequest(nil, &first)), c.broker.MaxPayload())
	if room < 1 {
		return status.Errorf(http.StatusRequestHeaderFieldsTooLarge, status.ExecutedNo, nats.ErrMaxPayload, "the head of the request does not fit into a message of the broker, whose limit is %d bytes", c.broker.MaxPayload())
	}
	if body := request.Body; len(body) > room {
		request.Body, request.Stream = body[:room], wire.Unread(body[room:], request.Stream)
	}
	first.Body = request.Body
	return c.publishFragment(ctx, request.Subject, request.reply, &first)
}

// acked takes an ack. The caller holds the slot's lock.
func (u *upload) acked(from Peer, window int64) {
	if u.taker == (Peer{}) {
		u.taker = from
		u.takers <- from
	}
	if u.taker != from {
		return
	}
	if u.window = max(u.window, window); u.writer != nil {
		u.writer.Open(window)
	}
}

// taken returns the channel for the instance that takes the other parts.
func (u *upload) taken() <-chan Peer {
	if u == nil {
		return nil
	}
	return u.takers
}

// begin sends the other parts, on a goroutine of their own.
func (u *upload) begin(ctx context.Context, taker Peer) {
	config, err := u.remoteWriter(ctx, taker)
	if u.sent.Local {
		config, err = u.localWriter(), nil
	}
	if err != nil {
		u.call.fail(status.Unsent(err))
		return
	}
	config.Context, config.First, config.Budget, config.Failed = ctx, len(u.sent.Body), u.sent.TimeBudget, u.call.fail
	config.Held = u.client.pending.memory.Reserve("")
	u.call.mu.Lock()
	defer u.call.mu.Unlock()
	config.Window = u.window
	u.writer = stream.NewWriter(config)
	u.begun = true
	go u.pump()
}

// localWriter returns how parts reach an instance of this process.
func (u *upload) localWriter() stream.WriterConfig {
	part := wire.Request{Method: u.sent.Method, Target: u.sent.Target, FromHost: u.sent.FromHost, FromID: u.sent.FromID, MsgID: u.sent.MsgID}
	return stream.WriterConfig{PartSize: stream.LocalPartSize, Keeps: true, Send: func(number wire.Fragment, body []byte) error {
		part.Fragment, part.Body = number, body
		u.client.config.DeliverPart(u.sent, &part)
		return nil
	}}
}

// remoteWriter returns how parts reach the instance that has acked part 1.
func (u *upload) remoteWriter(ctx context.Context, taker Peer) (config stream.WriterConfig, err error) {
	there := u.sent.Address
	there.Host = taker.ID + "." + taker.Host
	to, err := there.Subject(u.client.config.Plane)
	if err != nil {
		return config, err
	}
	part := u.sent.Request
	part.Host, part.Header, part.Body, part.Stream, part.Window, part.ContentLength = there.Host, nil, nil, nil, 0, 0
	part.Fragment = wire.Fragment{Number: stream.MaxParts}
	size := stream.SizeOfParts(len(wire.AppendRequest(nil, &part)), u.client.broker.MaxPayload())
	return stream.WriterConfig{PartSize: max(size, 1), Send: func(number wire.Fragment, body []byte) error {
		part.Fragment, part.Body = number, body
		return u.client.publishFragment(ctx, to, u.sent.reply, &part)
	}}, nil
}

// pieceSize is how much of a body is read at once, in bytes.
const pieceSize = 32 << 10

// pump sends the body.
func (u *upload) pump() {
	defer u.writer.Free()
	buffer := make([]byte, pieceSize)
	for {
		n, err := u.sent.Stream.Read(buffer)
		if _, failed := u.writer.Write(buffer[:n]); failed != nil {
			return // the call has the error
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = u.writer.Close()
			return
		case err != nil:
			u.writer.Fail(status.Errorf(http.StatusBadRequest, status.ExecutedUnknown, err, "the request body cannot be read: %s", err))
			return
		case n < len(buffer):
			_ = u.writer.Flush()
		}
	}
}

// extend returns when the wait for the response ends: the time budget counts from the latest part, or sign of the instance.
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
