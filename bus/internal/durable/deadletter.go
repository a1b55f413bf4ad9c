package durable

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// DeadLetter is a stored event that a service could not handle. Package bus exports its fields under the same names.
type DeadLetter struct {
	Source, Service, Event, MsgID string
	Parked                        time.Time
	Attempts                      int
	Reason, Body                  string

	stream           *Stream
	token, partition string // of the event, in subjects
	id               string // under which the publisher stored the event
	text             []byte
	sequence         uint64
}

// EachDeadLetter yields the dead letters that exist now, the oldest first, until yield returns false.
func (s *Stream) EachDeadLetter(ctx context.Context, yield func(*DeadLetter) bool) error {
	stream, err := s.parked(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil // no service has ever subscribed
	}
	if err != nil {
		return s.failed(err)
	}
	all := jetstream.WithGetMsgSubject(s.DeadLetter(AnyToken, AnyToken, AnyToken))
	last := stream.CachedInfo().State.LastSeq
	for next := uint64(1); next <= last; {
		message, err := stream.GetMsg(ctx, next, all)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return s.failed(err)
		}
		if message.Sequence > last {
			return nil
		}
		if next = message.Sequence + 1; strings.HasSuffix(message.Subject, "."+CutOffToken) {
			continue
		}
		if !yield(s.newDeadLetter(message)) {
			return nil
		}
	}
	return nil
}

func (s *Stream) newDeadLetter(message *jetstream.RawStreamMsg) *DeadLetter {
	labels := strings.Split(message.Subject, ".") // bus.d.example.orders.mailer_example.on-ordered.17
	labels, partition := labels[:len(labels)-1], labels[len(labels)-1]
	made := &DeadLetter{
		Source: s.Publisher, Service: strings.ReplaceAll(labels[len(labels)-2], "_", "."), Event: labels[len(labels)-1],
		Parked: message.Time, Reason: message.Header.Get(ReasonHeader),
		stream: s, token: labels[len(labels)-1], partition: partition, id: message.Header.Get(EventIDHeader), text: message.Data, sequence: message.Sequence,
	}
	made.Attempts, _ = strconv.Atoi(message.Header.Get(AttemptsHeader))
	var request wire.Request
	if wire.ParseRequest(message.Data, &request) == nil {
		made.MsgID, made.Body, made.Event = request.MsgID, string(request.Body), eventName(request.Target)
	}
	return made
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

// Redeliver delivers the event again, only to the service that could not handle it, and deletes the dead letter: see
// bus.DeadLetter.Redeliver.
func (p *DeadLetter) Redeliver(ctx context.Context) error {
	stream, err := p.stillParked(ctx)
	if err != nil {
		return err
	}
	manager, err := p.stream.manager()
	if err != nil {
		return p.stream.failed(err)
	}
	again := nats.NewMsg(p.stream.Retried(p.Service, p.token, p.partition))
	if err := p.stillHandled(ctx, manager, again.Subject); err != nil {
		return err
	}
	again.Data = p.text
	again.Header.Set(EventIDHeader, p.id)
	_, err = manager.PublishMsg(ctx, again, jetstream.WithMsgID("retry "+p.Service+" "+strconv.FormatInt(p.Parked.UnixNano(), 10)))
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, err, "the stream %s does not take %s, or the broker does not let %s publish it: add bus.a.… to its subjects, see docs/guides/events.md", p.stream.Events(), again.Subject, p.stream.config.Broker.User())
	}
	if err != nil {
		return p.stream.failed(err)
	}
	return p.delete(ctx, stream)
}

// stillHandled returns an error if the service would not get the event under a subject. JetStream does not report that:
// it confirms a message without a consumer, and keeps it for none.
func (p *DeadLetter) stillHandled(ctx context.Context, manager jetstream.JetStream, again string) error {
	stream, name := p.stream.Events(), ConsumerName{Service: p.Service, Event: p.token}
	consumer, err := manager.Consumer(ctx, stream, name.String())
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		name.Partition = p.partition
		consumer, err = manager.Consumer(ctx, stream, name.String())
	}
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return status.Errorf(http.StatusNotFound, status.ExecutedNo, err, "%s does not subscribe to %s of %s any more, so it stays parked", p.Service, p.Event, p.Source)
	case err != nil:
		return p.stream.failed(err)
	case !covered(again, consumer.CachedInfo().Config.FilterSubjects):
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, nil,
			"the consumer %s does not take %s, so it stays parked: if the stream %s does not either, add bus.a.… to its subjects, see docs/guides/events.md; then restart an instance of %s", name, again, stream, p.Service)
	default:
		return nil
	}
}

// Delete deletes the dead letter. It returns an error with status 404 if the dead letter does not exist any more.
func (p *DeadLetter) Delete(ctx context.Context) error {
	stream, err := p.stillParked(ctx)
	if err != nil {
		return err
	}
	return p.delete(ctx, stream)
}

// stillParked returns the stream of the dead letter. It returns an error if the dead letter does not exist any more.
func (p *DeadLetter) stillParked(ctx context.Context) (jetstream.Stream, error) {
	stream, err := p.stream.parked(ctx)
	if err == nil {
		_, err = stream.GetMsg(ctx, p.sequence)
	}
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, status.Errorf(http.StatusNotFound, status.ExecutedNo, err, "the event %s of %s is not parked any more", p.Event, p.Source)
	case err != nil:
		return nil, p.stream.failed(err)
	default:
		return stream, nil
	}
}

// delete deletes the dead letter. Another client may have deleted it just before; that is no error.
func (p *DeadLetter) delete(ctx context.Context, stream jetstream.Stream) error {
	err := stream.DeleteMsg(ctx, p.sequence)
	if err != nil && !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return p.stream.failed(err)
	}
	return nil
}

// parked returns the stream of dead letters.
func (s *Stream) parked(ctx context.Context) (jetstream.Stream, error) {
	return s.find(ctx, s.DeadLetters())
}

// covered reports whether one of some subjects, which may have wildcards, covers another.
func covered(published string, by []string) bool {
	return slices.ContainsFunc(by, func(taken string) bool { return subject.Covers(taken, published) })
}
