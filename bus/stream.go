package bus

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// runStream makes the run of a function that streams: each element of its iterator is a line of JSON, or an event if
// the caller asks for events. They go out as they come, several in one part while the broker connection is busy.
func runStream(e *endpoint) func(context.Context, *serverCall) (*wire.Response, error) {
	if e.bodyLimit == 0 {
		e.bodyLimit = functionBodyLimit
	}
	return func(ctx context.Context, in *serverCall) (*wire.Response, error) {
		if in.Request.Window == 0 {
			return nil, errStreams()
		}
		if wantsEvents(in.Request.Header) && in.Request.Header.Get("Last-Event-ID") == endID {
			return &wire.Response{Status: http.StatusNoContent, Header: in.Handler.ResponseHeader(nil)}, nil
		}
		arguments, err := e.decode(in)
		if err != nil {
			return nil, unsent(err)
		}
		iterator, err := e.mapped.Method.Call(ctx, arguments)
		if err != nil {
			return nil, executed(err)
		}
		out := newElements(in)
		defer out.flush() // those before an error, or a panic
		for text, err := range e.mapped.Stream(iterator) {
			if err != nil {
				return nil, executed(err)
			}
			if err := out.write(text); err != nil {
				return nil, executed(err)
			}
		}
		return out.finish()
	}
}

// errStreams is the answer to a caller that takes no stream, and might wait for ever for the whole of it.
func errStreams() *Error {
	return notRun(http.StatusNotAcceptable, nil,
		"it streams: call it by Operation.Stream, a generated client or Conn.Do; on the wire, with Bus-Window in the request")
}

// openAfter is how long a stream may be without an element before its head goes out: an error before that has a status
// of its own.
const openAfter = 50 * time.Millisecond

// endID is the id of the event at the end of a stream. A browser that connects again sends it, and stops when the
// answer is 204.
const endID = "end"

// wantsEvents reports whether a caller asks for the elements of a stream as events.
func wantsEvents(header wire.Header) bool {
	accepted := header.Get("Accept")
	return strings.Contains(accepted, restmap.EventStream) && !strings.Contains(accepted, restmap.NDJSON)
}

// elements are the elements of a stream, which are written on the goroutine of the handler and sent on another one.
type elements struct {
	in                *serverCall
	before, after     string // of each element
	end               string
	wake              chan struct{} // buffer of one; a value stands for elements to be sent
	stopped, finished chan struct{} // closed by stop, and by the other goroutine

	mu       sync.Mutex // protects all below
	response *wire.Response
	writer   *stream.Writer // nil until the stream is opened
}

func newElements(in *serverCall) *elements {
	out := &elements{in: in, after: "\n", wake: make(chan struct{}, 1), stopped: make(chan struct{}),
		finished: make(chan struct{})}
	contentType := restmap.NDJSON
	if wantsEvents(in.Request.Header) {
		contentType, out.before, out.after, out.end = restmap.EventStream, "data: ", "\n\n", "id: "+endID+
			"\nevent: end\ndata:\n\n"
	}
	out.response = &wire.Response{Status: http.StatusOK, Header: wire.Header{{Name: "Content-Type", Value: contentType}}}
	go out.send()
	return out
}

// write writes an element.
func (o *elements) write(text []byte) error {
	if o.in.conn.config.checkResponse != nil {
		o.in.check(http.StatusOK, restmap.NDJSON, text)
	}
	writer, err := o.open()
	if err != nil {
		return err
	}
	line := slices.Concat([]byte(o.before), text, []byte(o.after))
	if _, err := writer.Write(line); err != nil {
		return err
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// open opens the stream, unless it is open.
func (o *elements) open() (writer *stream.Writer, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writer == nil {
		o.response.Header = o.in.Handler.ResponseHeader(o.response.Header)
		o.writer, err = o.in.OpenStream(o.response)
	}
	return o.writer, err
}

// send sends what was written. While it sends, more is written, so a handler that is fast fills the parts.
func (o *elements) send() {
	defer close(o.finished)
	opening := time.NewTimer(openAfter)
	defer opening.Stop()
	for {
		select {
		case <-o.wake:
			runtime.Gosched() // the handler may have more
		case <-opening.C:
		case <-o.stopped:
			return
		}
		if writer, err := o.open(); err == nil {
			_ = writer.Flush() // the handler gets the error
		}
	}
}

// stop ends the other goroutine.
func (o *elements) stop() {
	select {
	case <-o.stopped:
	default:
		close(o.stopped)
	}
	<-o.finished
}

// flush stops, and sends the elements that have not been sent. Without one there is only the error.
func (o *elements) flush() {
	o.stop()
	if o.writer != nil {
		_ = o.writer.Flush()
	}
}

// finish ends the stream as a whole.
func (o *elements) finish() (*wire.Response, error) {
	o.stop()
	if o.writer == nil {
		o.response.Header = o.in.Handler.ResponseHeader(o.response.Header)
		o.response.Body = []byte(o.end)
		return o.response, nil
	}
	if _, err := o.writer.Write([]byte(o.end)); err != nil {
		return nil, executed(err)
	}
	return o.response, o.writer.Close()
}

// Stream calls one instance of an endpoint that streams, and yields the elements as they come; Results is their type.
// Nothing is sent until the sequence is ranged over; each range is a separate call. Elements that are not taken are not
// sent: the service waits. An error is the last that is yielded, an [*Error]: without one the stream has come whole.
// Leaving the loop, or the end of ctx, ends the context of the handler. The time budget, 20 s (see [WithTimeBudget]),
// is for the beginning, and then for the time without a sign of the service. A function that does not stream, or a
// caller of another endpoint, yields an error.
func (o Operation[Arguments, Results]) Stream(ctx context.Context, arguments Arguments) iter.Seq2[Results, error] {
	return func(yield func(Results, error) bool) {
		var none Results
		response, err := o.beginStream(ctx, arguments)
		if err != nil {
			yield(none, o.explain(ctx, err))
			return
		}
		body := io.NopCloser(bytes.NewReader(response.Body))
		if response.Stream != nil {
			body = response.Stream
		}
		defer func() { _ = body.Close() }()
		lines := bufio.NewReaderSize(body, stream.PartSize)
		for {
			line, err := readLine(lines, o.conn.config.messageLimit)
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(none, asStreamError(err))
				return
			}
			element, err := o.decode(response, line)
			if !yield(element, err) || err != nil {
				return
			}
		}
	}
}

// beginStream makes the call.
func (o Operation[Arguments, Results]) beginStream(ctx context.Context, arguments Arguments) (*wire.Response, error) {
	request, err := o.request(arguments)
	if err != nil {
		return nil, err
	}
	request.Window, request.Caller = o.conn.client.Window(), ctx
	request.Header = append(slices.Clip(request.Header), wire.Field{Name: "Accept", Value: restmap.NDJSON})
	response, err := o.conn.call(ctx, request)
	if err != nil {
		return nil, err
	}
	contentType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.Status >= http.StatusBadRequest:
		err = responseError(response)
	case contentType != restmap.NDJSON:
		err = misfit(response, errNoStream, *new(Results))
	default:
		return response, nil
	}
	if response.Stream != nil {
		_ = response.Stream.Close()
	}
	return nil, err
}

var errNoStream = errors.New("it is no stream of JSON lines, but what a method returns that does not stream")

// readLine reads a line of at most limit bytes. The line is valid until the next one is read.
func readLine(from *bufio.Reader, limit int) ([]byte, error) {
	line, err := from.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
	long := slices.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(long) > limit {
			return nil, stream.TooLarge(int64(len(long)), limit)
		}
		line, err = from.ReadSlice('\n')
		long = append(long, line...)
	}
	return bytes.TrimSuffix(long, []byte("\n")), err
}
