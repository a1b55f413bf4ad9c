package ingress

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal/internal/outside"
)

// maxStatus is the largest status code in HTTP (RFC 9110, 15).
const maxStatus = 599

// relay writes the response of a service to the client. A body that comes as a stream ends when the ingress is closed.
func (i *Handler) relay(w http.ResponseWriter, r *http.Request, response *http.Response, load *reservation) {
	if response.StatusCode < http.StatusOK || response.StatusCode > maxStatus {
		i.refuse(w, r, bus.Errorf(http.StatusBadGateway, "the service answered with status %d", response.StatusCode))
		return
	}
	if isStream(response) {
		end, body := i.untilClosed, response.Body
		if isEndless(response) { // its client comes again, to another server
			end = i.untilStopped
		}
		ctx, stop := end(r.Context())
		defer stop()
		defer context.AfterFunc(ctx, func() { _ = body.Close() })()
		r = r.WithContext(ctx)
	}
	if r.Method != http.MethodHead && outside.MediaType(response.Header) == outside.ProblemType {
		if err := outside.AdaptProblem(requestPath(r), response); err != nil {
			i.refuse(w, r, err)
			return
		}
	}
	if !r.ProtoAtLeast(1, 1) && isStream(response) && !isEndless(response) && load.take(maxCollected) {
		if err := collect(response); err != nil {
			i.refuse(w, r, err)
			return
		}
	}
	filterResponseHeader(w.Header(), response.Header)
	setAnsweredBy(w.Header(), response.Header)
	if isStream(response) {
		setUnlessSet(w.Header(), "X-Accel-Buffering", "no") // by nginx
		if outside.MediaType(response.Header) == eventStreamType {
			setUnlessSet(w.Header(), "Cache-Control", "no-cache")
		}
	}
	i.writeResponse(w, r, response)
}

func setUnlessSet(header http.Header, name, value string) {
	if _, set := header[name]; !set {
		header.Set(name, value)
	}
}

// isStream reports whether the body of a response comes as a stream, and is not in memory.
func isStream(response *http.Response) bool { return response.Trailer != nil }

// isEndless reports whether a response is a stream that may have no end, so that a server that stops does not wait for
// it.
func isEndless(response *http.Response) bool {
	endless := []string{eventStreamType, "application/x-ndjson", "application/json-seq", "multipart/x-mixed-replace"}
	return isStream(response) && slices.Contains(endless, outside.MediaType(response.Header))
}

// maxCollected is how large a stream may be that a client of HTTP/1.0 gets in one piece, in bytes.
const maxCollected = 1 << 20

// collect reads a small stream whole. A client of HTTP/1.0, which knows no chunks, then gets the length, or an error.
func collect(response *http.Response) error {
	first, err := io.ReadAll(io.LimitReader(response.Body, maxCollected))
	switch {
	case err != nil:
		return err
	case len(first) == maxCollected:
		response.Body = wire.Unread(first, response.Body)
		return nil
	}
	_ = response.Body.Close()
	response.Body, response.Trailer, response.ContentLength = wire.NewBody(first), nil, int64(len(first))
	response.Header.Set("Content-Length", strconv.Itoa(len(first)))
	return nil
}

// keepOwnPaths removes from the document of a service at a public path what clients would not find there, as something
// else has its place. The document of a host lists all of it. A stream stays that is larger than maxCollected.
func (i *Handler) keepOwnPaths(to *url.URL, public *outside.PublicPath, response *http.Response,
	load *reservation) error {
	if public == nil || public.Path != "" || to.Path != outside.PathDocument {
		return nil
	}
	if isStream(response) && load.take(maxCollected) {
		if err := collect(response); err != nil {
			return err
		}
	}
	if isStream(response) {
		return nil
	}
	return outside.KeepPaths(response, func(path string) bool { return i.config.paths.Of(public.Prefix+path) == public })
}

// relayStream writes a body as it comes, and the trailer. A body that ends before its end breaks the connection, so
// that no client takes half of it for the whole; events end with one that says why.
func (i *Handler) relayStream(w http.ResponseWriter, r *http.Request, response *http.Response) {
	client := &streamWriter{Writer: w, connection: http.NewResponseController(w), timeout: writeTimeout}
	_, err := client.Write(nil) // the header goes out before the first piece comes
	if err == nil {
		_, err = io.Copy(client, response.Body)
	}
	if err != nil && !client.failed && r.Context().Err() == nil && outside.MediaType(response.Header) == eventStreamType &&
		response.ContentLength < 0 {
		_, err = client.Write(i.problemEvent(r, err))
	}
	if err != nil {
		if client.failed {
			i.noteUnread(r, err)
		}
		breakOff(client.connection, r)
	}
	addTrailer(w.Header(), response.Trailer)
}

// addTrailer adds the trailer of a response to the header of the client, without what cannot be in a header either, and
// what only a header may have (RFC 9110, 6.5.1).
func addTrailer(to, from http.Header) {
	kept := make(http.Header)
	filterResponseHeader(kept, from)
	for name, values := range kept {
		if _, sent := from[name]; sent && values != nil && !belongsToHeader(name) {
			to[http.TrailerPrefix+name] = values
		}
	}
}

// belongsToHeader reports whether a field says how a response is to be taken, so that a trailer must not have it. The
// name is canonical.
func belongsToHeader(name string) bool {
	switch name {
	case "Age", "Authorization", "Cache-Control", "Date", "Expires", "Host", "Location", "Pragma", "Proxy-Status",
		"Refresh", "Retry-After", "Set-Cookie",
		"Set-Cookie2", "Vary", "Warning", "Www-Authenticate", "X-Accel-Buffering", "X-Accel-Expires",
		"X-Content-Type-Options", "X-Frame-Options":
		return true
	default:
		return strings.HasPrefix(name, "Content-") && name != "Content-Digest" || strings.HasPrefix(name, "Cross-Origin-")
	}
}

// problemEvent returns the event that ends a stream of events that has failed. The blank line before it ends an event
// that was cut off.
func (i *Handler) problemEvent(r *http.Request, err error) []byte {
	problem := outside.Problem(r, i.visible(r, err))
	line := strings.NewReplacer("\r", " ", "\n", " ").Replace(string(problem)) // which are blanks in JSON
	return []byte("\n\nevent: problem\ndata: " + line + "\n\n")
}

// heldPiece is how many bytes of a body in memory have a time of their own: who reads it slower than 256 KiB a minute
// is cut off.
const heldPiece = 256 << 10

// heldWriter writes a body that is in memory, in pieces. The first has the time that the response has, each further one
// a time of its own.
type heldWriter struct {
	client http.ResponseWriter
	begun  bool
}

// Write writes a body, or a part of it.
func (h *heldWriter) Write(body []byte) (written int, err error) {
	for piece := range slices.Chunk(body, heldPiece) {
		if h.begun {
			// not every server supports this
			_ = http.NewResponseController(h.client).SetWriteDeadline(time.Now().Add(writeTimeout))
		}
		h.begun = true
		n, err := h.client.Write(piece)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// breakOff breaks the connection. For a client of HTTP/1.0 the end of a connection may be that of a body, so it gets a
// reset.
func breakOff(connection *http.ResponseController, r *http.Request) {
	if !r.ProtoAtLeast(1, 1) {
		if conn, _, err := connection.Hijack(); err == nil {
			reset(conn)
		}
	}
	panic(http.ErrAbortHandler)
}

// reset closes a connection so that the other side sees an error.
func reset(conn net.Conn) {
	if bounded, ok := conn.(*connection); ok {
		defer func() { _ = bounded.Close() }()
		conn = bounded.Conn
	}
	for secured, ok := conn.(*tls.Conn); ok; secured, ok = conn.(*tls.Conn) {
		conn = secured.NetConn()
	}
	if socket, ok := conn.(*net.TCPConn); ok {
		_ = socket.SetLinger(0)
	}
	_ = conn.Close()
}

// streamWriter writes each piece of a stream to the client at once, and gives each a time of its own.
type streamWriter struct {
	io.Writer

	connection *http.ResponseController
	timeout    time.Duration // of a piece
	failed     bool          // a piece could not be written
}

// Write writes a piece.
func (s *streamWriter) Write(piece []byte) (int, error) {
	_ = s.connection.SetWriteDeadline(time.Now().Add(s.timeout)) // not every server supports this
	n, err := s.Writer.Write(piece)
	if err == nil {
		err = s.connection.Flush()
	}
	s.failed = err != nil
	_ = s.connection.SetWriteDeadline(time.Time{}) // by HTTP/2 it would end a stream that is idle
	return n, err
}

// handlerWriter writes each piece of a response to the client at once, and gives each a time of its own.
type handlerWriter struct {
	http.ResponseWriter

	client *streamWriter
}

// Write writes a piece.
func (h *handlerWriter) Write(piece []byte) (int, error) { return h.client.Write(piece) }

// Flush does nothing: nothing waits.
func (*handlerWriter) Flush() {}
