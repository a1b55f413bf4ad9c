package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// webResponse is the http.ResponseWriter of a web endpoint. It keeps what the handler writes until that returns, so
// that a handler that fails halfway answers only with its error. What the handler flushes, and what is large, goes out
// as a stream, if the caller takes one.
type webResponse struct {
	in       *serverCall
	ctx      context.Context //nolint:containedctx // of the handler, for CloseNotify
	isHead   bool            // the request
	header   http.Header
	sent     http.Header // the header as it was when the status was written
	wrote    bool
	status   int
	body     bytes.Buffer // until there is a stream
	counted  int          // bytes of body that are counted
	written  int64        // bytes of the body
	stream   *stream.Writer
	failed   error          // why the stream was not opened
	response *wire.Response // of the stream
	deadline time.Time      // of writes to the stream
}

const (
	// streamAfter is how many bytes of a body are kept for a handler that does not flush. One that announces more has a
	// stream from the beginning.
	streamAfter = 1 << 20
	// uncounted is how many bytes of a body are kept even if the memory for slow readers is tight.
	uncounted = 16 << 10
)

// Header returns the header, until the status is written.
func (w *webResponse) Header() http.Header { return w.header }

// WriteHeader sets the status once. It ignores informational statuses, as no client sees them.
func (w *webResponse) WriteHeader(status int) {
	if w.wrote || (status >= 100 && status < 200) {
		return
	}
	w.wrote, w.status, w.sent = true, status, w.header.Clone()
}

// Write writes a piece of the body.
func (w *webResponse) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch w.written += int64(len(data)); {
	case !restmap.HasContent(w.status):
		return 0, http.ErrBodyNotAllowed
	case w.isHead && w.body.Len() > 0: // the beginning decides the type, and the rest does not travel
		return len(data), nil
	case w.failed != nil:
		return 0, w.failed
	case w.stream != nil:
		return w.stream.Write(data)
	}
	if w.keeps(len(data)) {
		return w.body.Write(data)
	}
	if !w.mayStream() {
		size := w.body.Len() + len(data)
		if w.failed = w.in.HoldResponse(size); w.failed != nil {
			if limit := w.in.conn.config.messageLimit; size > limit { // trying again is of no use
				w.failed = cannotBeSent(stream.TooLarge(int64(size), limit))
			}
			w.body = bytes.Buffer{}
			return 0, w.failed
		}
		return w.body.Write(data)
	}
	first := 0
	if w.body.Len() == 0 {
		first = min(len(data), uncounted)
		w.body.Write(data[:first]) // it decides the type
	}
	if err := w.begin(); err != nil {
		return 0, err
	}
	n, err := w.stream.Write(data[first:])
	return first + n, err
}

// keeps reports whether so many more bytes are kept until the handler returns: the body is small, as far as is known,
// and there is memory.
func (w *webResponse) keeps(more int) bool {
	size := w.body.Len() + more
	if size <= max(uncounted, w.counted) {
		return true
	}
	if announced, _ := w.announced(); announced > streamAfter || size > streamAfter || w.in.IsMemoryTight() {
		return false
	}
	size = max(size, 2*w.counted)
	if w.in.HoldResponse(size) != nil {
		return false
	}
	w.body.Grow(size - w.body.Len())
	w.counted = size
	return true
}

// mayStream reports whether the caller takes the response as a stream.
func (w *webResponse) mayStream() bool {
	return w.in.Request.Window > 0 && !w.isHead && restmap.HasContent(w.status) && w.status >= 200 && w.status <= 599
}

// begin makes a stream of the response.
func (w *webResponse) begin() error {
	w.detectType()
	w.response = &wire.Response{Status: w.status, Header: w.fields()}
	if length, announced := w.announced(); announced {
		w.response.ContentLength = strconv.FormatInt(length, 10)
	}
	if w.stream, w.failed = w.in.OpenStream(w.response); w.failed != nil {
		w.stream = nil
		return w.failed
	}
	w.stream.SetDeadline(w.deadline)
	_, err := w.stream.Write(w.body.Bytes())
	w.body = bytes.Buffer{}
	w.in.FreeResponse()
	return err
}

// Flush sends what was written, see FlushError.
func (w *webResponse) Flush() { _ = w.FlushError() }

// FlushError sends what was written, if the caller takes a stream. Otherwise the response is sent when the handler
// returns.
func (w *webResponse) FlushError() error {
	w.WriteHeader(http.StatusOK)
	if !w.mayStream() {
		return nil
	}
	if w.failed != nil {
		return w.failed
	}
	if w.stream == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	return w.stream.Flush()
}

// SetWriteDeadline ends waits for a caller that reads a stream too slowly. It is for [http.ResponseController].
func (w *webResponse) SetWriteDeadline(at time.Time) error {
	if w.deadline = at; w.stream != nil {
		w.stream.SetDeadline(at)
	}
	return nil
}

// SetReadDeadline ends waits for the request, if that is a stream. It is for [http.ResponseController].
func (w *webResponse) SetReadDeadline(at time.Time) error {
	if body, ok := w.in.Request.Stream.(interface{ SetDeadline(at time.Time) }); ok {
		body.SetDeadline(at)
	}
	return nil
}

// EnableFullDuplex returns an error. It is for [http.ResponseController].
func (w *webResponse) EnableFullDuplex() error {
	return fmt.Errorf("%w: on the bus a response that begins ends the reading of its request, so read the request first",
		http.ErrNotSupported)
}

// CloseNotify returns a channel that gets a value when the caller has left, or the handler has returned. It is for
// handlers that are older than contexts, such as those that stream with gin.
func (w *webResponse) CloseNotify() <-chan bool {
	left := make(chan bool, 1)
	context.AfterFunc(w.ctx, func() { left <- true })
	return left
}

// finish ends the response of a handler that has returned; ctx is that of the handler.
func (w *webResponse) finish(ctx context.Context) (*wire.Response, error) {
	w.WriteHeader(http.StatusOK)
	if w.failed != nil {
		return nil, executed(w.failed)
	}
	if w.status < 200 || w.status > 599 {
		return nil, fmt.Errorf("the handler wrote status %d; use 200 to 599", w.status)
	}
	if err := w.checkLength(ctx); err != nil {
		return nil, err
	}
	trailer := w.trailer()
	if w.stream == nil && len(trailer) > 0 && w.mayStream() {
		if err := w.FlushError(); err != nil {
			return nil, err
		}
	}
	if w.stream != nil {
		w.in.SetTrailer(trailer)
		return w.response, w.stream.Close()
	}
	w.detectType()
	response := &wire.Response{Status: w.status, Header: w.fields(), Body: w.body.Bytes()}
	if w.isHead && restmap.HasContent(w.status) {
		w.announceLength(response)
	}
	takeBackNotExecuted(response)
	return response, nil
}

// fields returns the header without what announces trailers.
func (w *webResponse) fields() wire.Header {
	fields := wire.FromHTTP(w.sent)
	kept := fields[:0]
	for _, field := range fields {
		if !strings.HasPrefix(field.Name, http.TrailerPrefix) && !w.isTrailer(field.Name) {
			kept = append(kept, field)
		}
	}
	return kept
}

// trailer returns the fields that come after the body: those with [http.TrailerPrefix], and those that the field
// Trailer announced.
func (w *webResponse) trailer() wire.Header {
	found := make(http.Header)
	for name, values := range w.header {
		if plain, prefixed := strings.CutPrefix(name, http.TrailerPrefix); prefixed {
			found[textproto.CanonicalMIMEHeaderKey(plain)] = values
		} else if w.isTrailer(name) {
			found[name] = values
		}
	}
	return wire.FromHTTP(found)
}

// isTrailer reports whether the field Trailer announced a field.
func (w *webResponse) isTrailer(name string) bool {
	for _, line := range w.sent.Values("Trailer") {
		for announced := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(textproto.TrimString(announced), name) {
				return true
			}
		}
	}
	return false
}

// detectType sets the type of the body, as net/http does: not if the body is encoded, because the type is that of the
// decoded bytes, and not if the handler has set the type to nil.
func (w *webResponse) detectType() {
	if _, typed := w.sent["Content-Type"]; !typed && w.body.Len() > 0 && w.sent.Get("Content-Encoding") == "" {
		w.sent.Set("Content-Type", http.DetectContentType(w.body.Bytes()))
	}
}

// announced returns the Content-Length that the handler has written, if it is valid.
func (w *webResponse) announced() (length int64, valid bool) {
	length, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64)
	return length, err == nil && length >= 0 && length <= maxAnnounced
}

// maxAnnounced is the largest Content-Length that a response can announce: see [wire.Response].
const maxAnnounced = 999_999_999_999_999_999

// announceLength replaces the body of a response to HEAD by its length: the Content-Length that the handler has
// written, else the length of the body that it has written, if any.
func (w *webResponse) announceLength(response *wire.Response) {
	if length, announced := w.announced(); announced {
		response.ContentLength = strconv.FormatInt(length, 10)
	} else if w.written > 0 {
		response.ContentLength = strconv.FormatInt(w.written, 10)
	}
	response.Body = nil
}

// checkLength returns an error for a body that may be truncated: one whose length differs from the announced
// Content-Length, for example because a copied stream ended early, or one without a Content-Length if ctx has ended. A
// server of net/http breaks the connection then. Like there, an invalid Content-Length announces nothing.
func (w *webResponse) checkLength(ctx context.Context) error {
	if !restmap.HasContent(w.status) {
		return nil
	}
	announced, isAnnounced := w.announced()
	isWhole := isAnnounced && (announced == w.written || w.isHead)
	switch {
	case ctx.Err() != nil && !isWhole:
		return cutOff(context.Cause(ctx))
	case isAnnounced && !isWhole:
		return fmt.Errorf("the handler announced %d bytes with Content-Length and wrote %d; write as many, or leave it out",
			announced, w.written)
	default:
		return nil
	}
}

// cutOff returns the error for a handler that returned after its context had ended, because of cause. Most handlers
// have written only half of their answer then; a server of net/http would break the connection.
func cutOff(cause error) *Error {
	code := statusOfContext(cause)
	if known, ok := errors.AsType[*status.Error](cause); ok {
		code = known.Status
	}
	return hasRun(code, cause,
		"the handler returned after its context had ended (%s), so its answer may be cut off; "+
			"an answer with a Content-Length is sent if it is that long", cause)
}
