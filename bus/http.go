package bus

import (
	"context"
	"io"
	"iter"
	"net/http"
	"strconv"
	"sync"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// Do makes a unicast call with an *http.Request whose URL is an address on the bus. One instance answers; if the
// endpoint has no queue, all instances get the request and the first answer counts. The response has the status set by
// the service and a complete body; to HEAD it has no body, and the Content-Length that the service announced, if any. The headers Bus-From-Host and Bus-From-Id name the instance that answered.
//
// A path or a method that the host does not serve yields a 404 or 405 response. If there is no response, because no
// instance is there, no time is left or the broker is out of reach, Do returns an [*Error]. Do reads the request body,
// up to [WithMaxMessageBytes], and closes it, at the latest when the context of the request ends. It is safe for
// concurrent use.
func (c *Conn) Do(r *http.Request) (*http.Response, error) {
	request, err := c.fromHTTP(r)
	if err != nil {
		return nil, unsent(err)
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
	if r.Body != nil {
		read, err := readBody(r, c.config.messageLimit)
		if err != nil {
			return nil, err
		}
		if len(read) > c.config.messageLimit {
			return nil, newError(http.StatusRequestEntityTooLarge, ExecutedNo, nil,
				"a body of at least %d bytes exceeds the limit of %d for messages; see bus.WithMaxMessageBytes",
				max(int64(len(read)), r.ContentLength), c.config.messageLimit)
		}
		if r.ContentLength > int64(len(read)) {
			return nil, newError(http.StatusBadRequest, ExecutedNo, nil,
				"only %d of the %d bytes of the request body are left: a request can be sent only once; make a new one for each call", len(read), r.ContentLength)
		}
		body = read
	}
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	return newClientCall(method, r.URL, wire.FromHTTP(r.Header), body)
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
		return nil, newError(http.StatusBadRequest, ExecutedNo, err, "the request body cannot be read: %s", err)
	}
	return read, nil
}

// bodyFor returns the body that a request of a method gets, and its length as net/http shows it: as Content-Length, "" for none, and as a
// number, -1 if a response to HEAD announces none.
func bodyFor(method string, response *wire.Response) (body []byte, announced string, length int64) {
	body, length = response.Body, int64(len(response.Body))
	isHead := method == http.MethodHead
	switch {
	case isHead && response.ContentLength != "":
		announced = response.ContentLength
		length, _ = strconv.ParseInt(announced, 10, 64) // it was checked
	case isHead && length == 0:
		length = -1
	case response.Status != http.StatusNoContent && response.Status != http.StatusNotModified: // these have none (RFC 9110, 8.6)
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
	return &http.Response{
		Status: strconv.Itoa(response.Status) + " " + http.StatusText(response.Status), StatusCode: response.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header.HTTP(), Body: wire.NewBody(body), ContentLength: length, Request: r,
	}
}
