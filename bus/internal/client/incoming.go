package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// incoming is a response that comes in parts. If their number is known, the slot gets the whole. Else the response is a
// stream, and its slot stays open until the stream ends.
type incoming struct {
	client   *Client
	from     Peer
	reader   *stream.Reader
	isStream bool
	// the head; nil before part 1, and after the end of one whose parts are known. The lock of the shard protects it
	response *wire.Response
	probe    *probe // asks the broker whether the instance is there

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

// newIncoming returns a response whose first part has come and is still to be taken. It is a stream if there is a
// window.
func (p *pending) newIncoming(first *wire.Response, window int64) *incoming {
	from := SenderOf(first)
	in := &incoming{client: p.client, from: from, isStream: window > 0}
	length, _ := strconv.ParseInt(first.ContentLength, 10, 64) // 0 for none
	in.reader = stream.NewReader(stream.ReaderConfig{
		Held: p.memory.Reserve(from.ID + "." + from.Host), Ended: in.end, Limit: p.limit, Opened: window, Open: in.open,
		Length: length,
	})
	return in
}

// take takes a part under the lock of the shard: any of a response whose parts are known, and the first of a stream.
func (in *incoming) take(part *wire.Response, size int) error {
	if part.Fragment.Number == 1 && in.response == nil {
		in.response = part
		size += size - len(part.Body) // the head is in memory again
	}
	err := in.reader.Take(&part.Fragment, part.Body, part.Header, size)
	if errors.Is(err, stream.ErrEnded) {
		return nil // it was dropped
	}
	return err
}

// isWhole reports whether all parts have come of a response whose parts are known.
func (in *incoming) isWhole() bool { return in.response != nil && in.reader.HasEnded() }

// join returns the whole of a response.
func (in *incoming) join() *wire.Response {
	response := *in.response
	response.Body, response.Fragment = in.reader.Body(), wire.Fragment{}
	in.drop()
	return &response
}

// drop frees what has come. The rest is skipped.
func (in *incoming) drop() {
	in.response = nil
	_ = in.reader.Close()
}

// begin gives the caller a response that is a stream, unless there is another one.
func (s *pendingCall) begin(in *incoming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.response != nil {
		_ = in.reader.Close()
		return
	}
	response := *in.response
	response.Fragment, response.Body, response.Stream = wire.Fragment{}, nil, in.reader
	s.incoming, s.response = in, &response
	s.wakeLocked()
}

// deliverPart takes a part of a response, in a message of size bytes.
func (p *pending) deliverPart(part *wire.Response, size int) {
	in, ok := p.takePart(part, size)
	if in != nil { // it sends the window to the sender, so not under the lock of the shard
		ok = !errors.Is(in.reader.Take(&part.Fragment, part.Body, part.Header, size), stream.ErrRepeated)
	}
	if !ok {
		p.unexpected(part)
	}
}

// takePart takes a part, unless it belongs to a stream that has begun, which takePart returns. taken reports whether
// the slot expects it. The slot gets a response whose parts are known after the last one, a stream with the first, and
// an error as soon as a response cannot be received.
func (p *pending) takePart(part *wire.Response, size int) (begun *incoming, ok bool) {
	at := p.shard(part.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[part.MsgID]
	if s == nil || !s.expects(part) {
		return nil, false
	}
	in, isNew, err := p.incomingLocked(at, s, part)
	switch {
	case in == nil: // there are too many senders
		return nil, true
	case in.isStream && !isNew:
		return in, true
	case err == nil:
		err = in.take(part, size)
	}
	switch call, _ := s.(*pendingCall); {
	case errors.Is(err, stream.ErrRepeated):
		return nil, false
	case err != nil:
		in.drop()
		s.respond(p.failedResponse(part, err))
	case in.isStream:
		call.begin(in)
	case in.isWhole():
		s.respond(in.join())
	default:
		s.acknowledge(part) // an instance that answers has the request, even if its ack is lost
	}
	return nil, true
}

// incomingLocked returns the response that a part belongs to, which it may begin; nil if there are too many senders.
// The error is that of a stream that is not to begin.
func (p *pending) incomingLocked(at *shard, s slot, part *wire.Response) (in *incoming, isNew bool, err error) {
	of, from := at.incoming[part.MsgID], SenderOf(part)
	if of[from] != nil || len(of) >= maxResponders {
		return of[from], false, nil
	}
	window := int64(0)
	if call, isCall := s.(*pendingCall); isCall && part.Fragment.IsOpen() {
		window = int64(call.window)
	}
	if part.Fragment.IsOpen() && window == 0 {
		err = status.MayHaveRun(http.StatusBadGateway, nil, "it is a stream, which this caller did not ask for")
	}
	if of == nil {
		of = make(map[Peer]*incoming)
		if at.incoming == nil {
			at.incoming = make(map[string]map[Peer]*incoming)
		}
		at.incoming[part.MsgID] = of
	}
	of[from] = p.newIncoming(part, window)
	return of[from], true, err
}

// forgetLocked drops the incomplete responses to a request.
func (at *shard) forgetLocked(id string) {
	for _, each := range at.incoming[id] {
		if !each.isStream { // else its caller reads it
			each.drop()
		}
	}
	delete(at.incoming, id)
}

// replaced ends the stream with a response that comes in its place: the error of a handler that has failed.
func (in *incoming) replaced(by *wire.Response) {
	if by.Status < http.StatusBadRequest {
		in.reader.Fail(status.HasRun(http.StatusBadGateway, nil,
			"the stream was replaced by another response, with status %d", by.Status))
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

// open sends the window to the instance: how much it may send.
func (in *incoming) open(limit int64) {
	in.mu.Lock()
	msgID, local := in.msgID, in.local
	in.mu.Unlock()
	if msgID == "" {
		return // follow does it
	}
	c := in.client
	ack := &wire.Response{
		Status: http.StatusAccepted, OpCode: wire.OpAck, FromHost: c.config.Host, FromID: c.config.ID, MsgID: msgID,
		Queue: c.config.Host, Window: limit,
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
			in.reader.Fail(status.HasRun(http.StatusServiceUnavailable, status.ErrClosed,
				"the connection was closed in the middle of a stream of %s", in.from.Host))
		}))
	in.timer = time.AfterFunc(in.next, in.look)
	in.mu.Unlock()
	in.reader.Reopen()
}

// stoppedReading is the error of a stream whose caller's context has ended.
func stoppedReading(ctx context.Context, host string) *status.Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return status.HasRun(http.StatusGatewayTimeout, errors.Join(status.ErrTimeout, status.ContextEnded(ctx)),
			"the caller's deadline came before the end of the stream of %s", host)
	}
	return status.HasRun(http.StatusServiceUnavailable, status.ContextEnded(ctx),
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
		return status.HasRun(http.StatusGatewayTimeout, status.TimeBudgetSpent(), "nothing came of the stream of %s for %s",
			in.from.Host, in.budget)
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
