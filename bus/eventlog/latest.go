package eventlog

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/subject"
)

// Range selects stored events. The zero value selects all.
type Range struct {
	Event  string    // "on-ordered"; "" for all
	Since  time.Time // of what was stored at that time or later; zero: from the beginning of the log
	Until  time.Time // of what was stored before; zero: to the end of the log
	After  uint64    // above this sequence number
	Before uint64    // below this sequence number; 0: to the end of the log
}

// Latest yields the stored events of a publisher, the newest first. What is stored meanwhile is not among them. An
// error ends the sequence; an event of which none was stored, and to which no service subscribes, is one with status
// 404. It fetches each event when it comes to it, so that a caller who stops early costs little.
func Latest(ctx context.Context, conn *bus.Conn, publisher string, of Range) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		c, log, err := openLog(ctx, conn, publisher)
		if err == nil && of.Event != "" && of.After == 0 && of.Before == 0 {
			err = c.checkEvent(ctx, log, of.Event)
		}
		if err == nil {
			err = c.latest(ctx, log, &of, func(event Event) bool { return yield(event, nil) })
		}
		if err != nil {
			yield(Event{}, err)
		}
	}
}

func (c *client) latest(ctx context.Context, log jetstream.Stream, of *Range, yield func(Event) bool) error {
	event := durable.AnyToken
	if of.Event != "" {
		event = subject.Escape(of.Event)
	}
	w := &backwards{client: c, stream: log, filter: c.names.Event(event, durable.AnyToken)}
	state := log.CachedInfo().State
	before, first := state.LastSeq+1, max(state.FirstSeq, of.After+1)
	if of.Before > 0 {
		before = min(before, of.Before)
	}
	if !of.Until.IsZero() {
		until, err := w.storedAt(ctx, of.Until)
		if err != nil {
			return err
		}
		before = min(before, until)
	}
	return w.each(ctx, first, before, func(message *jetstream.RawStreamMsg) bool {
		return !message.Time.Before(of.Since) && yield(c.eventOf(message))
	})
}

// backwards reads the messages of a stream under a subject, the newest first. JetStream goes forwards only, so it finds
// their sequence numbers in windows that end before one another. It needs no consumer.
type backwards struct {
	client *client
	stream jetstream.Stream
	filter string
}

// Windows of sequence numbers.
const (
	firstWindow    = 64
	wantedOfWindow = 64      // messages
	mostOfWindow   = 512     // messages, from which a smaller window is tried
	growth         = 4       // of the next window, after one with few messages
	largestWindow  = 1 << 40 // of subjects with very few messages
)

// each yields the messages whose sequence numbers are from first until before.
func (b *backwards) each(ctx context.Context, first, before uint64, yield func(*jetstream.RawStreamMsg) bool) error {
	for size := uint64(firstWindow); before > first; {
		from := max(first, before-min(before, size))
		found, err := b.sequences(ctx, from, before)
		if err != nil {
			return err
		}
		if len(found) == mostOfWindow && size > mostOfWindow {
			size = max(mostOfWindow, size/mostOfWindow)
			continue
		}
		for _, sequence := range slices.Backward(found) {
			message, err := b.client.message(ctx, b.stream, sequence, b.filter)
			if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && message.Sequence != sequence {
				continue // it was dropped
			}
			if err != nil {
				return b.client.failed(err)
			}
			if !yield(message) {
				return nil
			}
		}
		if before = from; len(found) < wantedOfWindow {
			size = min(largestWindow, size*growth)
		}
	}
	return nil
}

// sequences returns the sequence numbers of the messages from one until before another, at most mostOfWindow.
func (b *backwards) sequences(ctx context.Context, from, before uint64) (found []uint64, err error) {
	for next := from; next < before && len(found) < mostOfWindow; {
		message, err := b.client.message(ctx, b.stream, next, b.filter)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return found, nil
		case err != nil:
			return nil, b.client.failed(err)
		case message.Sequence >= before:
			return found, nil
		}
		found = append(found, message.Sequence)
		next = message.Sequence + 1
	}
	return found, nil
}

// storedAt returns the sequence number from which on messages were stored at a time or later.
func (b *backwards) storedAt(ctx context.Context, at time.Time) (uint64, error) {
	state := b.stream.CachedInfo().State
	low, high := state.FirstSeq, state.LastSeq+1
	for low < high {
		middle := low + (high-low)/2 //nolint:mnd // half
		message, err := b.client.message(ctx, b.stream, middle, b.filter)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound), err == nil && !message.Time.Before(at):
			high = middle
		case err != nil:
			return 0, b.client.failed(err)
		default:
			low = message.Sequence + 1
		}
	}
	return low, nil
}

// eventOf returns the event of a message in the log.
func (c *client) eventOf(message *jetstream.RawStreamMsg) Event {
	_, token, _ := lastTokens(message.Subject)
	event := Event{Publisher: c.names.Publisher, Event: eventName(token), Stored: message.Time, Sequence: message.Sequence}
	event.MsgID, event.ID, event.Body = parse(message.Data, durable.EventID(message.Header, message.Time))
	return event
}

// Redeliver delivers one stored event again, to one service only, with a full number of attempts. It returns when
// JetStream has stored that. It returns an error with status 404 if the log has no such event of that name any more, or
// if the service does not subscribe to it, and 503 if the service's consumer does not accept redelivered events.
func Redeliver(ctx context.Context, conn *bus.Conn, publisher, service, event string, sequence uint64) error {
	c, log, err := openLog(ctx, conn, publisher)
	if err != nil {
		return err
	}
	if err := subject.CheckHost(service); err != nil {
		return errorf(http.StatusBadRequest, "the service: %w", err)
	}
	message, err := ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return log.GetMsg(ctx, sequence)
	})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound),
		err == nil && !subject.Covers(c.names.Event(durable.AnyToken, durable.AnyToken), message.Subject):
		return errorf(http.StatusNotFound, "the log of %s has no event %d any more", publisher, sequence)
	case err != nil:
		return c.failed(err)
	}
	_, token, partition := lastTokens(message.Subject)
	if found := eventName(token); found != event {
		return errorf(http.StatusNotFound, "event %d in the log of %s is %s, not %q", sequence, publisher, found, event)
	}
	return c.redeliver(ctx, &redelivery{
		service: service, event: token, partition: partition,
		eventID: durable.EventID(message.Header, message.Time), data: message.Data, otherwise: "so it was not redelivered",
	})
}
