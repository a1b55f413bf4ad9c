package bus

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/wire"
)

// Do makes a unicast call with an *http.Request whose URL is an address on the bus. One instance answers; if the
// endpoint has no queue, all instances get the request and the first answer counts. The response has the status set by
// the service. Its body comes as a stream if the service sends it so: close it, as with any HTTP client; it fails with
// an [*Error] if the stream ends before its end, and until then the call counts as in flight. To HEAD it has no body,
// and the Content-Length that the service announced, if any. The headers Bus-From-Host and Bus-From-Id name the
// instance that answered.
//
// A path or a method that the host does not serve yields a 404 or 405 response. If there is no response, because no
// instance is there, no time is left or the broker is out of reach, Do returns an [*Error]. A request body of more than
// 1 MiB that is not in memory, of more than [WithMaxMessageBytes], or of unknown length is sent as it is read, and of
// any size; to a service from before streams from memory, up to that limit. Do closes the body, at the latest when the
// context of the request ends. It is safe for concurrent use.
func (c *Conn) Do(r *http.Request) (*http.Response, error) {
	request, err := c.streamFromHTTP(r)
	if err != nil {
		return nil, unsent(err)
	}
	request.Window, request.Caller = c.client.Window(), r.Context()
	if request.Stream != nil {
		body := request.Stream // the client may have read it, and set another body
		defer func() { _ = body.Close() }()
	}
	response, err := c.call(r.Context(), request)
	if err != nil {
		return nil, err
	}
	return toHTTP(response, r), nil
}

// RoundTrip is Do. It implements http.RoundTripper, so any HTTP client can make its calls over the bus:
// http.Client{Transport: conn}.
func (c *Conn) RoundTrip(r *http.Request) (*http.Response, error) { return c.Do(r) }

// Multicast makes a multicast call: it sends a request to every instance that serves the address, including those of
// this process, and gathers their answers. Nothing is sent until the sequence is ranged over; each range is a separate
// call. The request body is read and closed at once.
//
// The answers are yielded as they come, in no particular order; the header Bus-From-Id names the instance that
// answered. If the endpoint has a queue, one instance answers: see [NoQueue]. If no instance is there, nothing is
// yielded; that is not an error. An instance that accepted the request and did not answer in time is yielded as an
// [*Error].
//
// The call ends when all instances that answered the previous call have answered again, when all instances that have
// acked have answered and no further one has acked for 250 ms, or with the time budget. Multicast waits for the first
// ack as long as [WithAckWait] sets, unless the broker reports that no instance is there. On the first call of an
// address the 250 ms are shortened if all instances known to the connection have acked. Leaving the loop early, for
// example with break, ends the call like the end of the context does: the instances that have acked and not answered
// are notified, and the contexts of their handlers end.
func (c *Conn) Multicast(r *http.Request) iter.Seq2[*http.Response, error] {
	request, err := c.fromHTTP(r)
	return func(yield func(*http.Response, error) bool) {
		if err != nil {
			yield(nil, unsent(err))
			return
		}
		for response, err := range c.multicast(r.Context(), request) {
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			if !yield(toHTTP(response, r), nil) {
				return
			}
		}
	}
}

// fromHTTP converts an HTTP request to a message. It returns an error for a body that is incomplete. It reads a body
// that is too large only up to the limit, because a body from outside may have no end.
func (c *Conn) fromHTTP(r *http.Request) (*clientCall, error) {
	var body []byte
	if limit := c.config.messageLimit; r.Body != nil {
		read, err := readBody(r, limit)
		if err != nil {
			return nil, err
		}
		if len(read) > limit {
			return nil, notRun(http.StatusRequestEntityTooLarge, nil,
				"a body of at least %d bytes exceeds the limit of %d for messages; see bus.WithMaxMessageBytes",
				max(int64(len(read)), r.ContentLength), limit)
		}
		if r.ContentLength > int64(len(read)) {
			return nil, notRun(http.StatusBadRequest, nil,
				"only %d of the %d bytes of the request body are left: a request can be sent only once; "+
					"make a new one for each call", len(read), r.ContentLength)
		}
		body = read
	}
	return messageOf(r, body)
}

func messageOf(r *http.Request, body []byte) (*clientCall, error) {
	return newClientCall(cmp.Or(r.Method, http.MethodGet), r.URL, wire.FromHTTP(r.Header), body)
}

// smallBody is how large a body of unknown length may be that travels in one piece, in bytes.
const smallBody = 64 << 10

// streamFromHTTP is fromHTTP for a unicast call: a body is sent as it is read if it is too large for memory, or of
// unknown length.
func (c *Conn) streamFromHTTP(r *http.Request) (*clientCall, error) {
	_, inMemory := r.Body.(wire.Body)
	whole := int64(c.config.messageLimit)
	if !inMemory && r.GetBody == nil { // it is not in memory yet
		whole = min(whole, stream.Window)
	}
	if r.Body == nil || (inMemory || r.ContentLength > 0) && r.ContentLength <= whole {
		return c.fromHTTP(r)
	}
	inTime := context.AfterFunc(r.Context(), func() { _ = r.Body.Close() })
	first, err := io.ReadAll(io.LimitReader(r.Body, smallBody))
	switch isWhole := len(first) < smallBody; {
	case !inTime():
		return nil, status.TooLate(r.Context(), 0)
	case err != nil:
		_ = r.Body.Close()
		return nil, notRun(http.StatusBadRequest, err, "the request body cannot be read: %s", err)
	case isWhole && r.ContentLength > int64(len(first)):
		_ = r.Body.Close()
		return nil, notRun(http.StatusBadRequest, nil,
			"only %d of the %d bytes of the request body are left: a request can be sent only once; make a new one for each call", len(first), r.ContentLength)
	case isWhole:
		if err := r.Body.Close(); err != nil {
			return nil, notRun(http.StatusBadRequest, err, "the request body cannot be read: %s", err)
		}
		return messageOf(r, first)
	}
	request, err := messageOf(r, first)
	if err != nil {
		_ = r.Body.Close()
		return nil, err
	}
	body := &streamedRequest{ReadCloser: r.Body, left: -1}
	if r.ContentLength > 0 {
		request.ContentLength, body.left = r.ContentLength, r.ContentLength-int64(len(first))
	}
	request.Stream = body
	return request, nil
}

// streamedRequest is a body that is read while the call lasts.
type streamedRequest struct {
	io.ReadCloser

	left  int64        // bytes of the announced ones; negative if none were
	reads atomic.Int32 // that have not returned
}

// errLength is the error of a body that has another length than it was announced with.
var errLength = errors.New("the request body is not as long as its Content-Length says")

// Read reads from the body.
func (b *streamedRequest) Read(data []byte) (int, error) {
	b.reads.Add(1)
	defer b.reads.Add(-1)
	n, err := b.ReadCloser.Read(data)
	if b.left < 0 {
		return n, err
	}
	if b.left -= int64(n); b.left < 0 || b.left > 0 && errors.Is(err, io.EOF) {
		return 0, errLength
	}
	return n, err
}

// Close closes the body. It does not wait, as some bodies do, for a Read that may never return.
func (b *streamedRequest) Close() error {
	if b.reads.Load() > 0 {
		go func() { _ = b.ReadCloser.Close() }()
		return nil
	}
	return b.ReadCloser.Close()
}

// readBody reads a body, up to one byte more than the limit, and closes it. If the context of the request ends
// meanwhile, closing the body ends the read: the writer of a pipe, for example, may never finish.
func readBody(r *http.Request, limit int) ([]byte, error) {
	if body, ok := r.Body.(wire.Body); ok {
		return body.Take(), nil
	}
	inTime, end := func() bool { return true }, r.Body.Close
	if r.GetBody == nil { // otherwise the body is in memory
		end = sync.OnceValue(end)
		inTime = context.AfterFunc(r.Context(), func() { _ = end() })
	}
	read, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	if closed := end(); err == nil {
		err = closed
	}
	if !inTime() {
		return nil, status.TooLate(r.Context(), 0)
	}
	if err != nil {
		return nil, notRun(http.StatusBadRequest, err, "the request body cannot be read: %s", err)
	}
	return read, nil
}

// bodyFor returns the body that a request of a method gets, and its length as net/http shows it: as Content-Length, ""
// for none, and as a number, -1 if a response to HEAD announces none.
func bodyFor(method string, response *wire.Response) (body []byte, announced string, length int64) {
	body, length = response.Body, int64(len(response.Body))
	isHead := method == http.MethodHead
	switch {
	case response.Stream != nil:
		announced, length = response.ContentLength, -1
		if announced != "" {
			length, _ = strconv.ParseInt(announced, 10, 64)
		}
	case isHead && response.ContentLength != "":
		announced = response.ContentLength
		length, _ = strconv.ParseInt(announced, 10, 64) // it was checked
	case isHead && length == 0:
		length = -1
	// these have none (RFC 9110, 8.6)
	case response.Status != http.StatusNoContent && response.Status != http.StatusNotModified:
		announced = strconv.Itoa(len(body))
	}
	if isHead {
		body = nil
	}
	return body, announced, length
}

// controlFields is how many headers an HTTP client gets that are no part of [wire.Header].
const controlFields = 6

// toHTTP converts a response for an HTTP client.
func toHTTP(response *wire.Response, r *http.Request) *http.Response {
	header := append(make(wire.Header, 0, len(response.Header)+controlFields), response.Header...)
	body, announced, length := bodyFor(r.Method, response)
	for _, control := range [controlFields]wire.Field{
		{Name: "Content-Length", Value: announced},
		{Name: wire.HeaderFromHost, Value: response.FromHost}, {Name: wire.HeaderFromID, Value: response.FromID},
		{Name: wire.HeaderMsgID, Value: response.MsgID}, {Name: wire.HeaderOpCode, Value: string(response.OpCode)},
		{Name: wire.HeaderQueue, Value: response.Queue},
	} {
		if control.Value != "" {
			header = append(header, control)
		}
	}
	to := &http.Response{
		Status: strconv.Itoa(response.Status) + " " + http.StatusText(response.Status), StatusCode: response.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header.HTTP(), ContentLength: length, Request: r,
	}
	if response.Stream == nil {
		to.Body = wire.NewBody(body)
		return to
	}
	to.Trailer = make(http.Header)
	to.Body = &streamedBody{ReadCloser: response.Stream, trailer: to.Trailer, missing: to.ContentLength}
	return to
}

// streamedBody is the body of a response that comes as a stream.
type streamedBody struct {
	io.ReadCloser

	trailer http.Header // filled at the end
	missing int64       // bytes of the announced ones; negative if none were
}

// Read reads what has come, and waits if there is nothing. An error is an [*Error], but for [io.EOF].
func (b *streamedBody) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	return n, b.ended(int64(n), err)
}

// WriteTo writes what comes, without copying it.
func (b *streamedBody) WriteTo(to io.Writer) (int64, error) {
	n, err := io.Copy(to, b.ReadCloser)
	if err != nil {
		return n, asStreamError(err)
	}
	if err = b.ended(n, io.EOF); errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ended takes what was read. At the end of the stream it sets the trailer.
func (b *streamedBody) ended(read int64, err error) error {
	if b.missing >= 0 {
		b.missing -= read
	}
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, io.EOF):
		return asStreamError(err)
	case b.missing > 0:
		return io.ErrUnexpectedEOF
	}
	if source, ok := b.ReadCloser.(interface{ Trailer() wire.Header }); ok {
		maps.Copy(b.trailer, source.Trailer().HTTP())
	}
	return err
}

// asStreamError returns the error that has ended a stream as programmers see it.
func asStreamError(err error) error {
	if response := client.ReplacementOf(err); response != nil {
		return responseError(response)
	}
	if _, ok := errors.AsType[*status.Error](err); ok {
		return asError(err)
	}
	return err
}
