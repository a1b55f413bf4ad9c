package bus

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// DeadLetter is a stored event that a service could not handle: see [Durable].
type DeadLetter struct {
	Source   string    `json:"source"`   // the host that has fired it
	Service  string    `json:"service"`  // the host that could not handle it
	Event    string    `json:"event"`    // its path without the slash, "on-ordered"
	MsgID    string    `json:"msgId"`    // its Bus-Msg-Id
	Parked   time.Time `json:"parked"`   // when it was parked
	Attempts int       `json:"attempts"` // how often it was tried
	Reason   string    `json:"reason"`   // what the last attempt failed with
	Body     string    `json:"body"`     // its arguments, as JSON

	conn     *Conn
	token    string // of the event, in subjects
	text     []byte
	sequence uint64
}

// DeadLetters yields the events of a source that services could not handle, the oldest first: those that are parked when the
// sequence is ranged over. An error ends it. It is for tools, and for those who look after a service: the user of the
// connection needs permissions for JetStream that services do not have, see docs/events.md.
func (c *Conn) DeadLetters(ctx context.Context, source string) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		if err := yieldParked(ctx, c, source, func(parked DeadLetter) bool { return yield(parked, nil) }); err != nil {
			yield(DeadLetter{}, err)
		}
	}
}

func yieldParked(ctx context.Context, conn *Conn, source string, yield func(DeadLetter) bool) error {
	if conn == nil {
		return noConnection("https://" + source)
	}
	if err := validSource(source); err != nil {
		return unsent(err)
	}
	store := &eventStream{conn: conn, source: source}
	stream, err := store.parked(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil // no service has ever subscribed
	}
	if err != nil {
		return store.failed(err)
	}
	all := jetstream.WithGetMsgSubject(subject.ParkedEvent(conn.plane, source, anyLabel, anyLabel))
	last := stream.CachedInfo().State.LastSeq
	for next := uint64(1); next <= last; {
		message, err := stream.GetMsg(ctx, next, all)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return store.failed(err)
		}
		if message.Sequence > last || !yield(newParkedEvent(conn, source, message)) {
			return nil
		}
		next = message.Sequence + 1
	}
	return nil
}

func newParkedEvent(conn *Conn, source string, message *jetstream.RawStreamMsg) DeadLetter {
	labels := strings.Split(message.Subject, ".") // bus.p.example.orders.mailer_example.on-ordered
	parked := DeadLetter{
		Source: source, Service: strings.ReplaceAll(labels[len(labels)-2], "_", "."), Event: labels[len(labels)-1],
		Parked: message.Time, Reason: message.Header.Get(parkedReason),
		conn: conn, token: labels[len(labels)-1], text: message.Data, sequence: message.Sequence,
	}
	parked.Attempts, _ = strconv.Atoi(message.Header.Get(parkedAttempts))
	var request wire.Request
	if wire.ParseRequest(message.Data, &request) == nil {
		parked.MsgID, parked.Body, parked.Event = request.MsgID, string(request.Body), eventName(request.Target)
	}
	return parked
}

// eventName returns the path of an event without the slash, as people write it.
func eventName(target string) string {
	escaped := path.Base(pathOf(target))
	if name, err := url.PathUnescape(escaped); err == nil {
		return name
	}
	return escaped
}

// Redeliver delivers the event again, to the service that could not handle it and to no other, with all its attempts, and removes it
// from what is parked. It returns when JetStream has stored it; whether it is handled this time, the log and what is parked
// later tell. It is an error if the event is not parked any more (404); and if the service does not handle such events any more
// (404), or its consumer does not take what is retried (503): then it stays parked.
func (p DeadLetter) Redeliver(ctx context.Context) error {
	stream, err := p.stillParked(ctx)
	if err != nil {
		return err
	}
	store := p.store()
	manager, err := store.manager()
	if err != nil {
		return store.failed(err)
	}
	again := nats.NewMsg(subject.RetriedEvent(p.conn.plane, p.Source, hostToken(p.Service), p.token))
	if err := p.stillHandled(ctx, manager, again.Subject); err != nil {
		return err
	}
	again.Data = p.text
	_, err = manager.PublishMsg(ctx, again, jetstream.WithMsgID("retry "+p.Service+" "+strconv.FormatInt(p.Parked.UnixNano(), 10)))
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		return newError(http.StatusServiceUnavailable, ExecutedNo, err, "the stream %s does not take %s, or the broker does not let %s publish it: add bus.a.… to its subjects, see docs/events.md", store.name(), again.Subject, p.conn.broker.User())
	}
	if err != nil {
		return store.failed(err)
	}
	return p.delete(ctx, stream)
}

// stillHandled says why the service would not get the event under a subject. JetStream does not: it confirms what no consumer
// takes, and keeps it for no consumer.
func (p DeadLetter) stillHandled(ctx context.Context, manager jetstream.JetStream, again string) error {
	stream, name := p.store().name(), consumerName(p.Service, p.token)
	consumer, err := manager.Consumer(ctx, stream, name)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return newError(http.StatusNotFound, ExecutedNo, err, "%s does not subscribe to %s of %s any more, so it stays parked", p.Service, p.Event, p.Source)
	case err != nil:
		return p.store().failed(err)
	case !delivers(consumer.CachedInfo().Config, again):
		return newError(http.StatusServiceUnavailable, ExecutedNo, nil,
			"the consumer %s does not take %s, so it stays parked: if the stream %s does not either, add bus.a.… to its subjects, see docs/events.md; then restart an instance of %s", name, again, stream, p.Service)
	default:
		return nil
	}
}

// Delete removes the event from what is parked. It is lost then. It is an error (404) if it is not parked any more.
func (p DeadLetter) Delete(ctx context.Context) error {
	stream, err := p.stillParked(ctx)
	if err != nil {
		return err
	}
	return p.delete(ctx, stream)
}

// stillParked returns the stream that the event is in.
func (p DeadLetter) stillParked(ctx context.Context) (jetstream.Stream, error) {
	if p.conn == nil {
		return nil, newError(http.StatusBadRequest, ExecutedNo, nil, "the event does not come from Conn.DeadLetters")
	}
	stream, err := p.store().parked(ctx)
	if err == nil {
		_, err = stream.GetMsg(ctx, p.sequence)
	}
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, newError(http.StatusNotFound, ExecutedNo, err, "the event %s of %s is not parked any more", p.Event, p.Source)
	case err != nil:
		return nil, p.store().failed(err)
	default:
		return stream, nil
	}
}

// delete removes the event; another client may just have done so.
func (p DeadLetter) delete(ctx context.Context, stream jetstream.Stream) error {
	err := stream.DeleteMsg(ctx, p.sequence)
	if err != nil && !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return p.store().failed(err)
	}
	return nil
}

func (p DeadLetter) store() *eventStream { return &eventStream{conn: p.conn, source: p.Source} }

// parked returns the stream of events that could not be handled.
func (s *eventStream) parked(ctx context.Context) (jetstream.Stream, error) {
	manager, err := s.manager()
	if err != nil {
		return nil, err
	}
	return manager.Stream(ctx, s.parkedName())
}
