package ingress

import (
	"context"
	"errors"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/portal/internal/outside"
)

// Limits of streams of events.
const (
	defaultEventStreams = 10_000
	streamQueue         = 64               // events that a client may be behind
	streamHeartbeat     = 15 * time.Second // of silence, until a comment says that the stream lives
	streamWriteTimeout  = 10 * time.Second // until a client has taken what was written
	streamReconnect     = 2 * time.Second  // until a client whose stream has ended comes again
	parallelReplays     = 16               // streams that read the log at a time
	replayPiece         = 64 << 10         // bytes of events that are read from the log before they are written
	maxEventID          = 64               // bytes
)

// eventStreamType is the media type of server-sent events.
const eventStreamType = "text/event-stream"

// eventStreams offers events of services to clients, as server-sent events
// (https://html.spec.whatwg.org/#server-sent-events).
type eventStreams struct {
	feeds   eventFeeds
	clients eventClients
	replays chan struct{} // has one for each stream that reads the log
	closing context.Context
	close   context.CancelFunc
}

func newEventStreams(conn *bus.Conn, limit int) *eventStreams {
	s := &eventStreams{
		feeds: eventFeeds{conn: conn, open: make(map[feedKey]*eventFeed)}, replays: make(chan struct{}, parallelReplays),
		clients: eventClients{limit: limit, of: make(map[eventClient]int)},
	}
	s.closing, s.close = context.WithCancel(context.Background())
	return s
}

// Close ends all streams at once, of events and of responses whose body a service sends as it comes; further streams of
// events are answered 503. Other calls are not affected. A [Server] that stops ends the streams that may have no end,
// of events and of lines of JSON. For another server call Close before http.Server.Shutdown, which would wait for them.
// Close may be called again, and concurrently.
func (i *Handler) Close() { i.streams.close() }

// untilClosed returns a context that ends with that of a request, and by Close.
func (i *Handler) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	return endsWith(ctx, i.streams.closing)
}

// untilStopped is untilClosed for streams that end as the server stops, too.
func (i *Handler) untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	return endsWith(ctx, i.streams.closing, stopping(ctx))
}

// endsWith returns a context that ends with others, too.
func endsWith(ctx context.Context, others ...context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	for _, other := range others {
		release := context.AfterFunc(other, cancel)
		context.AfterFunc(ctx, func() { release() })
	}
	return ctx, cancel
}

// namesEvent reports whether a path is that of an event: "/orders.example:417/on-ordered".
func namesEvent(path string) bool {
	service, _, _ := outside.CutFirst(path)
	return strings.HasSuffix(service, ":"+strconv.Itoa(subject.EventPort))
}

// serveEvents answers a request for the events of one kind.
func (i *Handler) serveEvents(w http.ResponseWriter, r *http.Request, path string) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		i.rejectRequest(w, r, bus.Errorf(http.StatusMethodNotAllowed, "events are read with GET, not %s", r.Method))
		return
	}
	stream, err := i.newEventStream(w, r, path)
	if err != nil {
		i.rejectRequest(w, r, err)
		return
	}
	if err := i.streams.clients.enter(stream.listener); err != nil {
		i.rejectRequest(w, r, err)
		return
	}
	defer i.streams.clients.remove(stream.listener)
	ctx, cancel := stream.bound(r.Context())
	defer cancel()
	if err := stream.ask(ctx); err != nil {
		i.rejectRequest(w, r, err)
		return
	}
	feed, err := i.streams.feeds.join(ctx, stream.feedKey)
	if err != nil {
		i.refuseFeed(w, r, err)
		return
	}
	defer i.streams.feeds.release(feed)
	defer feed.detach(stream)
	if !stream.resumes() {
		stream.written = feed.attach(stream) // before the client knows that it listens
	}
	if err := stream.begin(); err != nil {
		i.rejectRequest(w, r, err)
		return
	}
	ctx, stop := i.untilStopped(ctx)
	defer stop()
	stream.send(ctx, feed)
}

// eventStream is the stream of one client.
type eventStream struct {
	feedKey

	ingress  *Handler
	request  *http.Request
	client   http.ResponseWriter
	control  *http.ResponseController
	token    string
	expiry   time.Time // of the token; zero for never
	listener eventClient
	after    string // the id behind which the client wants events; "" for those that come from now on

	queue chan *streamedEvent // closed when the client is too far behind
	// sequence number up to which the client has all; 0 if the events are not stored, or the log begins again
	written uint64
}

// newEventStream returns the stream that a request asks for.
func (i *Handler) newEventStream(w http.ResponseWriter, r *http.Request, path string) (*eventStream, error) {
	to, err := outside.AddressOf(path, []int{subject.EventPort})
	if err != nil {
		return nil, err
	}
	s := &eventStream{
		feedKey: feedKey{publisher: to.Hostname(), event: strings.TrimPrefix(to.Path, "/")},
		ingress: i, request: r, client: w, control: http.NewResponseController(w),
		queue: make(chan *streamedEvent, streamQueue),
	}
	switch {
	case s.event == "":
		return nil, bus.Errorf(http.StatusNotFound, "the path names no event: it is /<host>:%d/<event>", subject.EventPort)
	case !i.config.events.Has(s.publisher, s.event):
		return nil, outside.ErrNotOpen(s.publisher, s.event)
	case !acceptsEvents(r.Header):
		return nil, bus.Errorf(http.StatusNotAcceptable, "events are sent as text/event-stream: accept that")
	case i.streams.closing.Err() != nil:
		return nil, bus.Errorf(http.StatusServiceUnavailable, "the ingress stops")
	}
	if s.after, err = lastEventID(r); err != nil {
		return nil, err
	}
	var verified claims.Claims
	if s.token, verified, err = i.actor(r, to.Hostname()); err != nil {
		return nil, err
	}
	s.expiry, s.listener = verified.Expiry(), i.config.eventClientOf(r, verified)
	return s, nil
}

// acceptsEvents reports whether a client accepts text/event-stream (RFC 9110, 12.5.1).
func acceptsEvents(header http.Header) bool {
	if len(header.Values("Accept")) == 0 {
		return true
	}
	for accepted := range outside.Listed(header, "Accept") {
		kind, parameters, err := mime.ParseMediaType(accepted)
		quality, malformed := strconv.ParseFloat(parameters["q"], 64)
		if refused := malformed == nil && quality == 0; err != nil || refused {
			continue
		}
		if kind == eventStreamType || kind == "text/*" || kind == "*/*" {
			return true
		}
	}
	return false
}

// lastEventID returns the id of the last event that a client has: of the header by which browsers continue a stream,
// else of the query, for a first request; "" for none.
func lastEventID(r *http.Request) (string, error) {
	id := r.Header.Get("Last-Event-Id")
	if id == "" {
		id = r.URL.Query().Get("lastEventId")
	}
	if strings.ContainsFunc(id, isForeignToIDs) || len(id) > maxEventID {
		return "", bus.Errorf(http.StatusBadRequest,
			"Last-Event-ID is %.80q: send the id of an event of this stream, or none", id)
	}
	return id, nil
}

func isForeignToIDs(c rune) bool {
	return (c < 'a' || 'z' < c) && (c < 'A' || 'Z' < c) && (c < '0' || '9' < c) && c != '-' && c != '_'
}

// bound returns a context that ends when the client leaves, and when its token expires.
func (s *eventStream) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.expiry.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, s.expiry)
}

// ask asks the publisher about the event on behalf of the client, who may listen if there is no error.
func (s *eventStream) ask(ctx context.Context) error {
	var header http.Header
	ctx = bus.CaptureResponseHeader(bus.WithTimeBudget(bus.WithActor(ctx, s.token), s.ingress.config.timeBudget), &header)
	stored, err := outside.AskEvent(ctx, s.ingress.conn, s.ingress.config.events, s.publisher, s.event)
	if challenge := header["Www-Authenticate"]; err != nil && challenge != nil {
		s.client.Header()["Www-Authenticate"] = challenge
	}
	s.stored = stored
	return err
}

// refuseFeed answers when events cannot be had. That says something of the broker, which is not for clients.
func (i *Handler) refuseFeed(w http.ResponseWriter, r *http.Request, err error) {
	logger := i.conn.Logger()
	logger.Error().Err(err).Str("path", requestPath(r)).Msg("the events cannot be offered")
	i.rejectRequest(w, r, bus.Errorf(http.StatusServiceUnavailable,
		"the events cannot be had now; the reason is in the log of the ingress"))
}

// resumes reports whether the client wants what was stored while it was away.
func (s *eventStream) resumes() bool { return s.stored && s.after != "" }

// begin sends the header.
func (s *eventStream) begin() error {
	header := s.client.Header()
	header.Set("Content-Type", eventStreamType)
	header.Set("Cache-Control", "no-store, no-transform")
	header.Set("X-Accel-Buffering", "no") // nginx
	header.Set("X-Content-Type-Options", "nosniff")
	if errors.Is(s.control.Flush(), http.ErrNotSupported) {
		return bus.Errorf(http.StatusInternalServerError,
			"events cannot be sent: a handler around the ingress has a ResponseWriter that has neither Flush nor Unwrap")
	}
	return nil
}

// send writes events until the client leaves or falls behind, its token expires, or the ingress stops.
func (s *eventStream) send(ctx context.Context, feed *eventFeed) {
	defer func() { _ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) }() // for the end of the response
	if s.catchUp(ctx, feed) != nil {
		return
	}
	heartbeat := time.NewTimer(streamHeartbeat)
	defer heartbeat.Stop()
	for {
		text := []byte(":\n\n")
		select {
		case event, ok := <-s.queue:
			if !ok {
				_ = s.write([]byte(": this client is too slow; it has to come again\n\n"))
				return
			}
			if event.sequence != 0 && event.sequence <= s.written {
				continue // another ingress was ahead of this one
			}
			s.written, text = 0, event.text // from here on all are new, in a new log, too
		case <-heartbeat.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				_ = s.write([]byte(": the token has expired\n\n"))
			}
			return
		}
		if s.write(text) != nil {
			return
		}
		heartbeat.Reset(streamHeartbeat)
	}
}

// write writes to the client at once.
func (s *eventStream) write(text []byte) error {
	_, err := (&streamWriter{Writer: s.client, connection: s.control, timeout: streamWriteTimeout}).Write(text)
	s.ingress.noteUnread(s.request, err)
	return err
}

// catchUp writes what the client has missed, and attaches the stream to the feed, without a gap and without an event
// twice.
func (s *eventStream) catchUp(ctx context.Context, feed *eventFeed) error {
	begin := []byte("retry: " + strconv.FormatInt(streamReconnect.Milliseconds(), 10) + "\n\n")
	switch {
	case s.resumes():
	case s.stored: // the id is for a client whose stream ends before an event has come
		begin = append(begin, "id: "+strconv.FormatUint(s.written, 10)+"\n\n"...)
	case s.after != "":
		begin = append(begin, newGap("these events are not stored: what was published meanwhile is not there").text...)
	}
	if err := s.write(begin); err != nil || !s.resumes() {
		return err
	}
	var malformed error
	if s.written, malformed = strconv.ParseUint(s.after, 10, 64); malformed != nil {
		s.written = math.MaxUint64 // which no log has
	}
	if s.written != feed.position() {
		if err := s.replay(ctx, math.MaxUint64); err != nil {
			return err
		}
	}
	if until := feed.attach(s); s.written < until {
		return s.replay(ctx, until)
	}
	return nil
}

// replay writes the events of the log that the client has not got, up to a sequence number.
func (s *eventStream) replay(ctx context.Context, until uint64) error {
	for more := true; more; {
		var piece [][]byte
		var last uint64
		var err error
		piece, last, more, err = s.readPiece(ctx, until)
		if bus.StatusOf(err) == http.StatusGone {
			if err := s.write(newGap(outside.DetailOf(err)).text); err != nil {
				return err
			}
			s.written = 0
			piece, last, more, err = s.readPiece(ctx, until)
		}
		if err != nil {
			return err
		}
		for _, text := range piece {
			if err := s.write(text); err != nil {
				return err
			}
		}
		s.written = last
	}
	return nil
}

// readPiece reads a piece of what the client has not got, and returns the sequence number of its last event, and
// whether more may follow. It writes nothing, so that a client that reads slowly keeps no other from the log.
func (s *eventStream) readPiece(ctx context.Context, until uint64) (piece [][]byte, last uint64, more bool, err error) {
	select {
	case s.ingress.streams.replays <- struct{}{}:
	case <-ctx.Done():
		return nil, 0, false, ctx.Err()
	}
	defer func() { <-s.ingress.streams.replays }()
	size := 0
	last = s.written
	options := []eventlog.TailOption{eventlog.OnlyEvent(s.event), eventlog.AfterSequence(s.written), eventlog.NoFollow()}
	for event, err := range eventlog.Tail(ctx, s.ingress.conn, s.publisher, options...) {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, 0, false, err
		}
		if event.Sequence > until {
			return piece, last, false, nil
		}
		text := newStoredEvent(&event).text
		piece, last, size = append(piece, text), event.Sequence, size+len(text)
		if size >= replayPiece {
			return piece, last, true, nil
		}
	}
	return piece, last, false, nil
}
