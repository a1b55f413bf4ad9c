package eventlog

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Event is a stored event.
type Event struct {
	Publisher string    `json:"publisher"`
	Event     string    `json:"event"` // "on-ordered"
	ID        string    `json:"id"`    // as in events.DeliveryOf
	MsgID     string    `json:"msgId"` // Bus-Msg-Id
	Stored    time.Time `json:"stored"`
	Sequence  uint64    `json:"sequence"` // in the log, which has gaps
	Body      string    `json:"body"`     // arguments, as JSON
}

// TailOption is an option of [Tail].
type TailOption func(*tailOptions)

type tailOptions struct {
	since    time.Time
	isSince  bool
	after    *uint64
	event    string
	noFollow bool
}

// Since begins with the events that were stored at a time or later; the zero time stands for the beginning of the log.
// Default: with the events that are stored from now on.
func Since(at time.Time) TailOption {
	return func(o *tailOptions) { o.since, o.isSince = at, true }
}

// AfterSequence begins behind the event with a sequence number, with 0 at the beginning of the log. If the log has
// dropped events behind that one, or has never had it, Tail yields an error with status 410. A kind of event of which
// none was stored is then no error. It replaces [Since].
func AfterSequence(sequence uint64) TailOption {
	return func(o *tailOptions) { o.after = &sequence }
}

// OnlyEvent yields only events of one kind, such as "on-ordered". Default: all.
func OnlyEvent(event string) TailOption { return func(o *tailOptions) { o.event = event } }

// NoFollow ends the sequence after the events that are there. Default: it goes on until the context ends.
func NoFollow() TailOption { return func(o *tailOptions) { o.noFollow = true } }

// Tail yields the stored events of a publisher, in the order in which they were stored, handled or not. An error ends
// the sequence; so does the end of ctx, with the error of ctx. An event of which none was stored, and to which no
// service subscribes, is an error with status 404.
func Tail(ctx context.Context, conn *bus.Conn, publisher string, options ...TailOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var chosen tailOptions
		for _, option := range options {
			option(&chosen)
		}
		c, err := newPublisherClient(conn, publisher)
		if err == nil {
			err = c.tail(ctx, &chosen, func(event Event) bool { return yield(event, nil) })
		}
		if err != nil {
			yield(Event{}, err)
		}
	}
}

// LastSequence returns the sequence number of the event that was stored last by a publisher, 0 if there was none.
func LastSequence(ctx context.Context, conn *bus.Conn, publisher string) (uint64, error) {
	_, log, err := openLog(ctx, conn, publisher)
	if err != nil {
		return 0, err
	}
	return log.CachedInfo().State.LastSeq, nil
}

// tailMemory is how long JetStream keeps the consumer of a tail that has gone.
const tailMemory = 30 * time.Second

func (c *client) tail(ctx context.Context, options *tailOptions, yield func(Event) bool) error {
	log, err := c.log(ctx)
	if err != nil {
		return err
	}
	config, err := c.tailConfig(ctx, log, options)
	if err != nil {
		return err
	}
	reader, err := ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return log.OrderedConsumer(ctx, config)
	})
	if err != nil {
		return c.failed(err)
	}
	left := reader.CachedInfo().NumPending
	messages, err := reader.Messages()
	if err != nil {
		return c.failed(err)
	}
	defer messages.Stop()
	for ; !options.noFollow || left > 0; left-- {
		message, err := messages.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return c.failed(err)
		}
		if !yield(c.newEvent(message)) {
			return nil
		}
	}
	return nil
}

func (c *client) tailConfig(ctx context.Context, log jetstream.Stream,
	options *tailOptions) (jetstream.OrderedConsumerConfig, error) {
	config := jetstream.OrderedConsumerConfig{
		FilterSubjects:    []string{c.names.Event(durable.AnyToken, durable.AnyToken)},
		DeliverPolicy:     jetstream.DeliverNewPolicy,
		InactiveThreshold: tailMemory,
	}
	switch {
	case options.after != nil:
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, *options.after+1
		if err := checkSequence(log.CachedInfo().State, *options.after); err != nil {
			return config, err
		}
	case !options.isSince:
	case options.since.IsZero():
		config.DeliverPolicy = jetstream.DeliverAllPolicy
	case options.since.After(time.Now()):
		return config, inFuture(options.since)
	default:
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &options.since
	}
	if options.event == "" {
		return config, nil
	}
	config.FilterSubjects = []string{c.names.Event(subject.Escape(options.event), durable.AnyToken)}
	if options.after != nil {
		return config, nil
	}
	return config, c.checkEvent(ctx, log, options.event)
}

// checkSequence returns an error if events behind a sequence number are missing, or may be.
func checkSequence(log jetstream.StreamState, after uint64) error {
	switch {
	case after == 0:
		return nil
	case after > log.LastSeq:
		return errorf(http.StatusGone, "the log has never had the event %d: its last one is %d", after, log.LastSeq)
	case after+1 < log.FirstSeq:
		return errorf(http.StatusGone, "the log has dropped events behind %d: it begins with %d", after, log.FirstSeq)
	default:
		return nil
	}
}

func inFuture(at time.Time) error {
	return errorf(http.StatusBadRequest, "%s is in the future: choose a time up to now", at.Format(time.RFC3339))
}

// checkEvent returns an error if a log has no event of a kind, and no service subscribes to it.
func (c *client) checkEvent(ctx context.Context, log jetstream.Stream, event string) error {
	kinds, err := c.kinds(ctx, log)
	if err != nil {
		return err
	}
	var there []string
	for _, kind := range kinds {
		there = append(there, kind.Event)
	}
	consumers, err := c.consumers(ctx, log)
	if err != nil {
		return err
	}
	for _, each := range consumers {
		there = append(there, eventName(each.Event))
	}
	if slices.Contains(there, event) {
		return nil
	}
	return unknown(c.names.Publisher+" has stored no event "+event, event, there)
}

func (c *client) newEvent(message jetstream.Msg) Event {
	raw := &jetstream.RawStreamMsg{Subject: message.Subject(), Header: message.Headers(), Data: message.Data()}
	if metadata, err := message.Metadata(); err == nil {
		raw.Time, raw.Sequence = metadata.Timestamp, metadata.Sequence.Stream
	}
	return c.eventOf(raw)
}

// parse returns the content of a stored event. storedAs is what JetStream knows it by: the path and the id that the
// publisher chose, or its message id.
func parse(text []byte, storedAs string) (msgID, id, body string) {
	var request wire.Request
	if wire.ParseRequest(text, &request) != nil {
		return "", storedAs, string(text)
	}
	path, _, _ := strings.Cut(request.Target, "?")
	if chosen, ok := strings.CutPrefix(storedAs, path+" "); ok {
		return request.MsgID, chosen, string(request.Body)
	}
	return request.MsgID, request.MsgID, string(request.Body)
}

// isGone reports whether a consumer or its log does not exist.
func isGone(err error) bool {
	return errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
}
