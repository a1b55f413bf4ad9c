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
	Source   string    `json:"source"`   // host that published the event
	Service  string    `json:"service"`  // host that could not handle it
	Event    string    `json:"event"`    // path of the event without the slash, "on-ordered"
	MsgID    string    `json:"msgId"`    // Bus-Msg-Id of the event
	Parked   time.Time `json:"parked"`   // time when it became a dead letter
	Attempts int       `json:"attempts"` // number of deliveries
	Reason   string    `json:"reason"`   // error of the last attempt
	Body     string    `json:"body"`     // arguments, as JSON

	conn     *Conn
	token    string // the event's token in subjects
	text     []byte
	sequence uint64
}

// DeadLetters yields the events of a publisher that services could not handle, the oldest first: the dead letters that
// exist when the sequence is ranged over. An error ends the sequence. It is for tools and operators: the user of the
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

// eventName returns the unescaped path of an event without the slash.
func eventName(target string) string {
	whole, _, _ := strings.Cut(target, "?")
	escaped := path.Base(whole)
	if name, err := url.PathUnescape(escaped); err == nil {
		return name
	}
	return escaped
}

// Redeliver delivers the event again, only to the service that could not handle it, with a full number of attempts, and
// deletes the dead letter. It returns when JetStream has stored the event. It does not wait for the handler: the
// outcome appears in the log, and possibly as a new dead letter. It returns an error with status 404 if the dead letter
// does not exist any more. It returns an error and keeps the dead letter if the service does not subscribe to such
// events any more (404), or if its consumer does not accept redelivered events (503).
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

// stillHandled returns an error if the service would not get the event under a subject. JetStream does not report that:
// it confirms a message without a consumer, and keeps it for none.
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

// Delete deletes the dead letter; the event is lost then. It returns an error with status 404 if the dead letter does
// not exist any more.
func (p DeadLetter) Delete(ctx context.Context) error {
	stream, err := p.stillParked(ctx)
	if err != nil {
		return err
	}
	return p.delete(ctx, stream)
}

// stillParked returns the stream of the dead letter. It returns an error if the dead letter does not exist any more.
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

// delete deletes the dead letter. Another client may have deleted it just before; that is no error.
func (p DeadLetter) delete(ctx context.Context, stream jetstream.Stream) error {
	err := stream.DeleteMsg(ctx, p.sequence)
	if err != nil && !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return p.store().failed(err)
	}
	return nil
}

func (p DeadLetter) store() *eventStream { return &eventStream{conn: p.conn, source: p.Source} }

// parked returns the stream of dead letters.
func (s *eventStream) parked(ctx context.Context) (jetstream.Stream, error) {
	manager, err := s.manager()
	if err != nil {
		return nil, err
	}
	return manager.Stream(ctx, s.parkedName())
}
