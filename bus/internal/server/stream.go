package server

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// Open takes the window for a response that is a stream, in an ack of its caller. It reports whether there is one.
func (s *Server) Open(ack *wire.Response) bool {
	of := s.streams.get(RequestKey{ack.FromHost, ack.FromID, ack.MsgID})
	if of == nil {
		return false
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.writer != nil {
		of.writer.Open(ack.Window)
	}
	return of.writer != nil
}

// streaming is what a request keeps of a body that comes in parts, and of a response that is a stream.
type streaming struct {
	key    RequestKey
	in     *Incoming
	slots  *worker.Limiter    // that counts it; nil for none
	expiry *time.Timer        // at the expiry of the token; nil for none
	held   stream.Reservation // memory for what this takes

	reader  *stream.Reader // of the request's body; nil for one in memory
	place   string         // the subject of the parts of the request
	opened  int64          // bytes of the request that may come before any are read
	isWhole bool           // the request is handled when all parts have come
	ends    time.Time      // of the time budget, which began with part 1
	timer   *time.Timer    // at the end of the time budget, or of the wait for a part; nil unless isWhole

	element    *list.Element // in streams.waiting; the lock of streams protects it
	isArriving bool          // the request counts as arriving; the lock of streams protects it

	mu       sync.Mutex     // protects all below
	writer   *stream.Writer // of the response's body; nil until it is opened
	response *wire.Response // with the head of the stream
	trailer  wire.Header
}

// takeFirst takes part 1, and memory for what the request costs besides.
func (of *streaming) takeFirst(cost int) error {
	if err := of.held.Grow(cost); err != nil {
		return err
	}
	first := of.in.Request
	return of.reader.Take(&first.Fragment, first.Body, nil, of.in.Size)
}

// take takes another part. The handler gets the error of a part that does not fit.
func (of *streaming) take(part *wire.Request, size int) error {
	if first := of.in.Request; part.Method != first.Method || part.Target != first.Target {
		err := status.NotRun(http.StatusBadRequest, nil, "part %d is for %s %s, but part 1 was for %s %s",
			part.Fragment.Number, part.Method, part.Target, first.Method, first.Target)
		of.reader.Fail(incomplete(err.Status, nil, "%s", err.Detail))
		return err
	}
	err := of.reader.Take(&part.Fragment, part.Body, part.Header, size)
	if err == nil && len(part.Body) > 0 && !of.isWhole {
		of.extend()
	}
	return err
}

// incomplete is the error of reading a request whose rest does not come. It is [io.ErrUnexpectedEOF], as for a server
// of net/http.
func incomplete(code int, cause error, format string, arguments ...any) *status.Error {
	return status.HasRun(code, errors.Join(io.ErrUnexpectedEOF, cause), "unexpected EOF: "+format, arguments...)
}

// newStreaming returns what a request keeps of a stream.
func (s *Server) newStreaming(in *Incoming) *streaming {
	key := KeyOf(in.Request)
	return &streaming{key: key, in: in, held: s.Memory.Reserve(key.sender())}
}

// count counts the stream in the share of its sender, and returns an error if that is used up. Calls of handlers of
// this instance always find room, as those handlers wait for them.
func (of *streaming) count(slots *worker.Limiter) error {
	if of.slots != nil || of.in.Own {
		return nil
	}
	if !slots.BeginStream(of.key.sender()) {
		return status.TooBusy("too busy: the limit of concurrent streams is reached")
	}
	of.slots = slots
	return nil
}

// expire ends the handler with the token of its caller, which may outlive no stream.
func (of *streaming) expire() {
	at := of.in.Handler.Claims.Expiry()
	if of.expiry != nil || at.IsZero() {
		return
	}
	of.expiry = time.AfterFunc(time.Until(at), func() {
		of.in.Handler.End(status.HasRun(http.StatusUnauthorized, nil, "the token has expired, and the stream ends with it"),
			false)
	})
}

// evict gives the memory back at once. The request then has to end.
func (of *streaming) evict() {
	of.held.Free()
	of.reader.Evict()
}

// end frees all that the request has held for its streams, after its handler has returned, or without one.
func (of *streaming) end() {
	if of.reader != nil {
		_ = of.reader.Close()
	}
	of.held.Free()
	for _, timer := range []*time.Timer{of.expiry, of.timer} {
		if timer != nil {
			timer.Stop()
		}
	}
	if of.slots != nil {
		of.slots.EndStream(of.key.sender())
		of.slots = nil
	}
}

// openWindow sends the caller the window: how much of its request it may send.
func (s *Server) openWindow(in *Incoming, limit int64) {
	ack := s.Broker.Response()
	ack.Status, ack.OpCode, ack.Window = http.StatusAccepted, wire.OpAck, limit
	if err := s.reply(in, ack); err != nil {
		s.Service.Lost(in, "window", err)
	}
	s.Broker.FreeResponse(ack)
}

// watchStream ends the body of a request with the context of its handler.
func (in *Incoming) watchStream() {
	if in.stream == nil {
		return
	}
	ctx, reader := &in.Handler, in.stream.reader
	context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		code := http.StatusServiceUnavailable
		if known, ok := errors.AsType[*status.Error](cause); ok {
			code = known.Status
		} else if errors.Is(cause, context.DeadlineExceeded) {
			code, cause = http.StatusGatewayTimeout, status.TimeBudgetSpent()
		}
		reader.Fail(incomplete(code, cause, "%s", context.Cause(ctx)))
	})
}

// requestWait is how long a body that is collected may take. It is the time that an ingress gives its clients, too.
const requestWait = 60 * time.Second

// Collect reads the body of a request that is a stream, at most limit bytes, for a function. It counts what it reads
// until the request is answered.
func (in *Incoming) Collect(body io.Reader, limit int) ([]byte, error) {
	if in.stream != nil { // else an interceptor has made a stream of it
		in.stream.reader.SetDeadline(in.Began.Add(requestWait))
	}
	if in.held == (stream.Reservation{}) { // else the message is in there
		in.held = in.reserve()
	}
	read, err := stream.ReadAll(body, limit, &in.held)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = status.NotRun(http.StatusRequestTimeout, err, "the request body did not come within %s", requestWait)
	}
	return read, err
}

// Authorized is called when the claims of the caller are known: the rest of the request ends when they expire.
func (in *Incoming) Authorized() {
	if in.stream != nil {
		in.stream.expire()
	}
}

// reserve returns a reservation for what the sender of the request makes this instance hold.
func (in *Incoming) reserve() stream.Reservation {
	return in.server.Memory.Reserve(KeyOf(in.Request).sender())
}

// HoldResponse counts so many bytes of a response in memory, until it was sent or [Incoming.FreeResponse]. It returns
// an error if there is no memory.
func (in *Incoming) HoldResponse(bytes int) error {
	if bytes <= in.counted {
		return nil
	}
	if in.counted == 0 {
		in.answer = in.reserve()
	}
	if err := in.answer.TryGrow(bytes - in.counted); err != nil {
		return status.TooBusy("too busy: too many large responses wait to be sent")
	}
	in.counted = bytes
	return nil
}

// FreeResponse ends what HoldResponse began.
func (in *Incoming) FreeResponse() {
	in.answer.Free()
	in.counted = 0
}

// IsMemoryTight reports whether more than half of the memory for peers is held.
func (in *Incoming) IsMemoryTight() bool { return in.server.Memory.IsTight() }

// streamEnded ends the streams of a request whose handler has returned, or that was not admitted. What is still to come
// is ignored. One that only responds is removed after its response.
func (s *Server) streamEnded(in *Incoming) {
	of := in.stream
	if of == nil {
		return
	}
	if of.reader != nil {
		s.streams.remove(of, time.Now().Add(in.Request.TimeBudget))
	}
	of.end()
}

// errAnswered is the error of reading a request whose response has begun.
var errAnswered = errors.New("the response has begun, and so no more of the request is read: read all of it before")

// OpenStream begins a response that is a stream, with the head of response, and returns its body. The time budget ends
// here: from now on the stream lives as long as its caller, and the endpoint's limit counts from part to part.
func (in *Incoming) OpenStream(response *wire.Response) (*stream.Writer, error) {
	s := in.server
	response.OpCode, response.MsgID, response.Stream = wire.OpRes, in.Request.MsgID, http.NoBody
	response.FromHost, response.FromID, response.Queue = s.Host, s.ID, s.Host
	partSize := stream.LocalPartSize
	if in.ReplyTo != "" {
		head := *response
		head.Fragment, head.Queue, head.Window = wire.Fragment{Number: stream.MaxParts}, s.ownHost, 0
		if partSize = stream.SizeOfParts(len(wire.AppendResponse(nil, &head)), s.Broker.MaxPayload()); partSize < 1 {
			return nil, status.HasRun(http.StatusRequestHeaderFieldsTooLarge, nats.ErrMaxPayload,
				"the head of the response does not fit into a message of the broker, whose limit is %d bytes",
				s.Broker.MaxPayload())
		}
	}
	of := in.stream
	if of == nil {
		of = s.newStreaming(in)
	}
	if err := of.count(s.limiterFor(in.Endpoint)); err != nil {
		return nil, err
	}
	in.stream = of
	of.expire()
	if of.reader != nil {
		of.reader.Fail(errAnswered)
	}
	writer := stream.NewWriter(stream.WriterConfig{
		Context: &in.Handler, Send: of.send, Keeps: in.ReplyTo == "", PartSize: partSize, Window: int64(in.Request.Window),
		First: stream.Unsent, Budget: in.Request.TimeBudget,
		Held:   s.Memory.Reserve(of.key.sender()),
		Failed: func(err error) { in.Handler.End(err, false) },
	})
	of.mu.Lock()
	of.response, of.writer = response, writer
	of.mu.Unlock()
	_ = s.streams.add(of)
	of.extend()
	context.AfterFunc(&in.Handler, func() { writer.Stop(context.Cause(&in.Handler)) })
	return writer, nil
}

// Streamed returns how many bytes of a response that is a stream were sent.
func (in *Incoming) Streamed() int64 {
	if in.stream == nil {
		return 0
	}
	in.stream.mu.Lock()
	writer := in.stream.writer
	in.stream.mu.Unlock()
	if writer == nil {
		return 0
	}
	return writer.Sent()
}

// SetTrailer sets the fields that come with the last part.
func (in *Incoming) SetTrailer(fields wire.Header) {
	in.stream.mu.Lock()
	defer in.stream.mu.Unlock()
	in.stream.trailer = fields
}

// send sends a part of the response.
func (of *streaming) send(number wire.Fragment, body []byte) error {
	part := new(wire.Response)
	of.mu.Lock()
	*part = *of.response
	if number.Number > 1 {
		part.Header, part.ContentLength = nil, ""
	}
	if !number.IsOpen() {
		part.Header = append(part.Header, of.trailer...)
	}
	of.mu.Unlock()
	part.Fragment, part.Body, part.Stream = number, body, nil
	if len(body) > 0 {
		of.extend()
	}
	return of.in.server.reply(of.in, part)
}

// extend moves the end of the time budget, as bytes have come or gone.
func (of *streaming) extend() {
	of.mu.Lock()
	answers := of.writer != nil
	of.mu.Unlock()
	ends := time.Time{}
	switch limit := of.in.Endpoint.TimeBudget; {
	case !answers:
		ends = time.Now().Add(of.in.budget())
	case limit > 0:
		ends = time.Now().Add(limit)
	}
	of.in.Handler.MoveEnd(ends)
}

// endResponseStream ends a response that is a stream. It reports whether response is still to be sent, in place of the
// stream.
func (s *Server) endResponseStream(in *Incoming, response *wire.Response) bool {
	of := in.stream
	defer s.streams.remove(of, time.Time{})
	of.writer.Stop(errAnswered)
	of.writer.Free()
	return response != of.response // which the handler has closed
}
