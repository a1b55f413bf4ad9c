package bus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/subject"
)

const (
	// storedAckWait is how long JetStream waits to hear of an event before it gives it to another instance.
	storedAckWait = 30 * time.Second

	// What is kept of events that could not be handled.
	parkedAge   = 30 * 24 * time.Hour
	parkedBytes = 64 << 20
)

func (s *storedEvents) stream() string { return s.store().name() }
func (s *storedEvents) parked() string { return s.store().parkedName() }

func (s *storedEvents) parkedEvents() (source, event string, count int64) {
	return s.source, s.event, s.unhandled.Load()
}

// ensure makes the streams and the consumer. One that is new has what is fired from now on. It is forgotten when no instance
// has asked for as long as events are kept.
func (s *storedEvents) ensure(ctx context.Context) error {
	stream, err := s.ensureStreams(ctx)
	if err != nil {
		return err
	}
	return s.ensureConsumer(ctx, stream)
}

// ensureStreams makes the streams of the source.
func (s *storedEvents) ensureStreams(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.store().ensure(ctx)
	if err != nil {
		return nil, err
	}
	return stream, s.ensureParked(ctx, stream.CachedInfo().Config.Replicas)
}

func (s *storedEvents) store() *eventStream { return &eventStream{conn: s.conn, source: s.source} }

func (s *storedEvents) ensureConsumer(ctx context.Context, stream jetstream.Stream) error {
	own := hostToken(s.conn.host)
	_, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: s.consumer, Description: "what " + s.conn.host + " has not handled",
		FilterSubjects: append(s.store().retries(stream, own, s.event), subject.Event(s.conn.plane, s.source, s.event)),
		DeliverPolicy:  jetstream.DeliverNewPolicy, AckPolicy: jetstream.AckExplicitPolicy, AckWait: storedAckWait,
		MaxDeliver: -1, MaxAckPending: maxUnfinished, InactiveThreshold: stream.CachedInfo().Config.MaxAge,
	})
	return err
}

// ensureParked makes the stream for events that could not be handled, on as many servers as that of the others.
func (s *storedEvents) ensureParked(ctx context.Context, replicas int) error {
	_, err := s.store().parked(ctx)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	manager, err := s.store().manager()
	if err != nil {
		return err
	}
	_, err = manager.CreateStream(ctx, jetstream.StreamConfig{
		Name: s.parked(), Description: "events of " + s.source + " that could not be handled",
		Subjects: []string{subject.ParkedEvent(s.conn.plane, s.source, anyLabel, anyLabel)},
		Storage:  jetstream.FileStorage, MaxAge: parkedAge, MaxBytes: parkedBytes, Duplicates: duplicateWindow, Replicas: replicas,
	})
	return err
}

// permissions are for a service that has stored events.
func (s *storedEvents) permissions() (publish, subscribe []Permission) {
	publish = append(streamPermissions(s.stream(), "the stream of the events of "+s.source), streamPermissions(s.parked(), "the stream of parked events")...)
	return append(publish,
		Permission{Subject: "$JS.API.CONSUMER.CREATE." + s.stream() + "." + s.consumer, For: "creating its consumer of " + s.event},
		Permission{Subject: "$JS.API.CONSUMER.MSG.NEXT." + s.stream() + "." + s.consumer, For: "asking for " + s.event},
		Permission{Subject: "$JS.ACK." + s.stream() + "." + s.consumer + ".>", For: "acknowledging " + s.event},
		Permission{Subject: subject.ParkedEvent(s.conn.plane, s.source, hostToken(s.conn.host), anyLabel), For: "parking events that could not be handled"},
	), inboxPermissions()
}
