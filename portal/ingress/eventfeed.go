package ingress

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/portal/internal/outside"
)

// Limits of a feed.
const (
	feedQueue    = 256 // events that have arrived and were not handed to the streams yet, of events that are not stored
	feedRetry    = time.Second
	feedMaxRetry = 5 * time.Second
)

// feedKey is an event that has a feed.
type feedKey struct {
	publisher, event string
	stored           bool
}

// eventFeeds are the feeds that streams listen to, one for each event however many streams there are. Its methods are
// safe for concurrent use.
type eventFeeds struct {
	conn *bus.Conn

	mu   sync.Mutex // protects all below
	open map[feedKey]*eventFeed
}

// eventFeed hands the events of one kind to streams: of the log if they are stored, else as they are published.
type eventFeed struct {
	feedKey

	conn   *bus.Conn
	users  int // protected by the lock of eventFeeds
	cancel context.CancelFunc
	opened chan struct{} // closed when the feed is open, or err is set
	err    error
	ended  chan struct{} // closed when the feed has ended

	mu      sync.Mutex // protects all below
	last    uint64     // sequence number behind which events are handed out
	streams map[*eventStream]struct{}
}

// join returns the feed of an event, which it opens if it is not. Each join without an error needs a leave.
func (f *eventFeeds) join(ctx context.Context, key feedKey) (*eventFeed, error) {
	feed := f.use(key)
	select {
	case <-feed.opened:
	case <-ctx.Done():
		f.release(feed)
		return nil, ctx.Err()
	}
	if feed.err != nil {
		f.release(feed)
		return nil, feed.err
	}
	return feed, nil
}

func (f *eventFeeds) use(key feedKey) *eventFeed {
	f.mu.Lock()
	defer f.mu.Unlock()
	feed := f.open[key]
	if feed == nil {
		ctx, cancel := context.WithCancel(context.Background())
		feed = &eventFeed{
			feedKey: key, conn: f.conn, cancel: cancel,
			opened: make(chan struct{}), ended: make(chan struct{}), streams: make(map[*eventStream]struct{}),
		}
		f.open[key] = feed
		go f.run(ctx, feed)
	}
	feed.users++
	return feed
}

// release removes a user of a feed. The last one ends the feed, and waits for that.
func (f *eventFeeds) release(feed *eventFeed) {
	f.mu.Lock()
	feed.users--
	isLast := feed.users == 0
	if isLast {
		f.forgetLocked(feed)
	}
	f.mu.Unlock()
	if isLast {
		feed.cancel()
		<-feed.ended
	}
}

// forgetLocked makes the next join open another feed.
func (f *eventFeeds) forgetLocked(feed *eventFeed) {
	if f.open[feed.feedKey] == feed {
		delete(f.open, feed.feedKey)
	}
}

// run runs a feed until it is cancelled or cannot be opened.
func (f *eventFeeds) run(ctx context.Context, feed *eventFeed) {
	defer close(feed.ended)
	read := feed.watch
	if feed.stored {
		read = feed.tail
	}
	if err := read(ctx); err != nil {
		f.mu.Lock()
		f.forgetLocked(feed)
		f.mu.Unlock()
		feed.err = err
		close(feed.opened)
	}
}

// watch hands out events as they are published. An error means that the feed was not opened.
func (f *eventFeed) watch(ctx context.Context) error {
	arrived, missed := make(chan events.Watched, feedQueue), make(chan struct{}, 1)
	noteMissed := func() {
		select {
		case missed <- struct{}{}:
		default: // it is noted already
		}
	}
	defer f.conn.WatchAnnouncements(func(announcement bus.Announcement) {
		if announcement.Missed {
			noteMissed()
		}
	})()
	stop, err := events.Watch(ctx, f.conn, f.publisher, f.event, func(event events.Watched) {
		select {
		case arrived <- event:
		default:
			noteMissed()
		}
	})
	if err != nil {
		return err
	}
	defer stop()
	close(f.opened)
	for {
		select {
		case event := <-arrived:
			f.send(&streamedEvent{text: encodeEvent(event.MsgID, event.Body)})
		case <-missed:
			f.send(newGap("the broker was away, or events came too fast"))
		case <-ctx.Done():
			return nil
		}
	}
}

var errNewLog = bus.Errorf(http.StatusGone, "the log has begun anew")

// tail hands out events of the log, behind the last one that it has now. It resumes at the last position when the
// broker was away. An error means that the feed was not opened.
func (f *eventFeed) tail(ctx context.Context) (err error) {
	if f.last, err = eventlog.LastSequence(ctx, f.conn, f.publisher); err != nil {
		return err
	}
	close(f.opened)
	for wait := feedRetry; ctx.Err() == nil; wait = min(2*wait, feedMaxRetry) {
		for event, failed := range eventlog.Tail(ctx, f.conn, f.publisher, eventlog.OnlyEvent(f.event),
			eventlog.AfterSequence(f.position())) {
			if err = failed; err == nil && event.Sequence <= f.position() {
				err = errNewLog
			}
			if err != nil {
				break
			}
			f.send(newStoredEvent(&event))
			wait = feedRetry
		}
		if bus.StatusOf(err) == http.StatusGone {
			f.send(newGap(outside.DetailOf(err)))
			continue
		}
		if wait == feedRetry && ctx.Err() == nil {
			logger := f.conn.Logger()
			logger.Warn().Err(err).Str("publisher", f.publisher).Str("event",
				f.event).Msg("stored events cannot be read; the streams of them wait")
		}
		pause(ctx, wait)
	}
	return nil
}

func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// position returns the sequence number behind which events are handed out.
func (f *eventFeed) position() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// send hands an event to all streams. It waits for none: one whose queue is full ends.
func (f *eventFeed) send(event *streamedEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stored {
		f.last = event.sequence
	}
	for stream := range f.streams {
		select {
		case stream.queue <- event:
		default:
			delete(f.streams, stream)
			close(stream.queue)
		}
	}
}

// attach hands all further events to a stream, and returns the sequence number behind which they are.
func (f *eventFeed) attach(stream *eventStream) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams[stream] = struct{}{}
	return f.last
}

func (f *eventFeed) detach(stream *eventStream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.streams, stream)
}

// streamedEvent is an event as all streams write it. It does not change.
type streamedEvent struct {
	sequence uint64 // in the log; 0 if it is not stored, and for a gap, behind which the log begins again
	text     []byte
}

func newStoredEvent(event *eventlog.Event) *streamedEvent {
	return &streamedEvent{event.Sequence, encodeEvent(strconv.FormatUint(event.Sequence, 10), []byte(event.Body))}
}

// newGap returns the event that says that others may be missing.
func newGap(reason string) *streamedEvent {
	var detail outside.Object
	detail.Set("detail", reason)
	return &streamedEvent{text: append([]byte("event: gap\n"), encodeEvent("", detail.JSON())...)}
}

// encodeEvent returns an event as text (https://html.spec.whatwg.org/#event-stream-interpretation). It has no type, so
// that browsers hand it to onmessage.
func encodeEvent(id string, data []byte) []byte {
	if len(data) == 0 {
		data = []byte("{}")
	}
	const perLine = len("data: \n")
	text := make([]byte, 0, len("id: \n\n")+len(id)+perLine+len(data))
	if id != "" {
		text = append(append(append(text, "id: "...), id...), '\n')
	}
	for more := true; more; {
		var line []byte
		if line, data, more = cutLine(data); len(line) > 0 || more {
			text = append(append(append(text, "data: "...), line...), '\n')
		}
	}
	return append(text, '\n')
}

// cutLine cuts a text behind its first line, which may end with CR, LF or both.
func cutLine(text []byte) (line, rest []byte, more bool) {
	at := bytes.IndexAny(text, "\r\n")
	if at < 0 {
		return text, nil, false
	}
	line, rest = text[:at], text[at+1:]
	if text[at] == '\r' && len(rest) > 0 && rest[0] == '\n' {
		rest = rest[1:]
	}
	return line, rest, true
}
