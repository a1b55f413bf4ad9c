package durable

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/natsconn"
)

const (
	// ackWait is the time after which JetStream delivers an event to another instance, if no sign of progress has come.
	ackWait = 30 * time.Second

	maxAckPending = 10_000 // unacknowledged deliveries of one event to all instances of a service
)

// Start is where a service that is new to an event begins: with the events that are stored from now on, if it is the
// zero value.
type Start struct {
	Beginning bool      // with the first event that the log has
	Time      time.Time // with the first event of this time or later
}

// position is where a consumer was, as far as this instance knows.
type position struct {
	log   time.Time // when the stream was created; zero for none
	floor uint64    // all events up to this sequence number are handled
}

// positionOf returns where a consumer is. stream was looked at before the consumer.
func positionOf(stream jetstream.Stream, consumer jetstream.Consumer) position {
	log, at := stream.CachedInfo(), consumer.CachedInfo()
	if at.NumPending == 0 && at.NumAckPending == 0 {
		return position{log.Created, max(at.AckFloor.Stream, log.State.LastSeq)}
	}
	return position{log.Created, at.AckFloor.Stream}
}

// noteState notes where a consumer is, and whether the service has got an event, or will. What an instance has noted
// stays true if the consumer is created again.
func (s *Consumer) noteState(stream jetstream.Stream, consumer jetstream.Consumer) {
	info := consumer.CachedInfo()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.was = positionOf(stream, consumer)
	if info.Delivered.Consumer > 0 || info.NumPending > 0 {
		s.of.came.Store(true)
	}
}

// ensureStreams creates the streams of the publisher.
func (s *Stream) ensureStreams(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.ensure(ctx)
	if err != nil {
		return nil, err
	}
	return stream, s.ensureDeadLetters(ctx, stream.CachedInfo().Config.Replicas)
}

// ensure creates the consumer, or updates it. A consumer that needs no update takes no permission for one.
func (s *Consumer) ensure(ctx context.Context, stream jetstream.Stream) error {
	var existing jetstream.ConsumerConfig
	consumer, err := stream.Consumer(ctx, s.name.String())
	switch {
	case err == nil:
		existing = consumer.CachedInfo().Config
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		if existing, err = s.newConfig(ctx, stream); err != nil {
			return err
		}
	default:
		return err
	}
	if wanted := s.over(existing, stream); consumer == nil || !reflect.DeepEqual(wanted, existing) {
		if consumer, err = s.createOrUpdate(ctx, stream, wanted); err != nil {
			return err
		}
		existing = consumer.CachedInfo().Config
	}
	s.noteState(stream, consumer)
	s.limitFetches(existing.MaxRequestBatch, existing.MaxRequestExpires)
	return nil
}

func (s *Consumer) createOrUpdate(ctx context.Context, stream jetstream.Stream,
	wanted jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	consumer, err := stream.CreateOrUpdateConsumer(ctx, wanted)
	if isAPIError(err, tooManyPending) {
		wanted.MaxAckPending = 0 // the broker chooses
		consumer, err = stream.CreateOrUpdateConsumer(ctx, wanted)
	}
	return consumer, err
}

// newConfig returns what a new consumer begins with: where it was before another client deleted it; or where the
// consumers were that it replaces, because the service handled the events in order, or does now; or where a new service
// begins.
func (s *Consumer) newConfig(ctx context.Context,
	stream jetstream.Stream) (config jetstream.ConsumerConfig, err error) {
	config = jetstream.ConsumerConfig{
		Durable: s.name.String(), Description: "what " + s.of.config.Host + " has not handled",
		AckPolicy: jetstream.AckExplicitPolicy,
	}
	s.mu.Lock()
	was := s.was
	s.mu.Unlock()
	if was.log.IsZero() {
		if was, err = s.replaced(ctx, stream); err != nil {
			return config, err
		}
		s.of.replaces.Store(s.of.replaces.Load() || !was.log.IsZero())
	}
	start, log := s.of.options.Start, stream.CachedInfo()
	switch {
	case was.log.Equal(log.Created):
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, was.floor+1
	case !was.log.IsZero(), start.Beginning: // the stream is another one, so all that it has is new
		config.DeliverPolicy = jetstream.DeliverAllPolicy
	case !start.Time.IsZero():
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &start.Time
	default:
		config.DeliverPolicy = jetstream.DeliverNewPolicy
	}
	s.of.isNew.Store(was.log.IsZero())
	return config, nil
}

// replaced returns the lowest position of the consumers that this one replaces.
func (s *Consumer) replaced(ctx context.Context, stream jetstream.Stream) (was position, err error) {
	for _, name := range s.name.otherForm() {
		old, err := stream.Consumer(ctx, name.String())
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return position{}, nil
		}
		if err != nil {
			return position{}, err
		}
		if at := positionOf(stream, old); was.log.IsZero() || at.floor < was.floor {
			was = at
		}
	}
	return was, nil
}

// otherForm returns the consumers of the same service and event that handle it in order if this one does not, and the
// other way around.
func (c ConsumerName) otherForm() (names []ConsumerName) {
	if c.Partition != "" {
		return []ConsumerName{{Service: c.Service, Event: c.Event}}
	}
	for partition := range Partitions {
		names = append(names, ConsumerName{c.Service, c.Event, strconv.Itoa(partition)})
	}
	return names
}

// over returns the configuration of a consumer with the settings that this instance relies on.
func (s *Consumer) over(config jetstream.ConsumerConfig, stream jetstream.Stream) jetstream.ConsumerConfig {
	if wanted := s.filters(stream); !hasFilters(config, wanted) {
		config.FilterSubject, config.FilterSubjects = "", wanted
	}
	config.AckWait, config.MaxDeliver = ackWait, -1
	switch {
	case s.isOrdered():
		config.MaxAckPending = 1
	case config.MaxAckPending == 0: // it is new; an operator, or the broker, may want fewer
		config.MaxAckPending = maxAckPending
	}
	return config
}

// isOrdered reports whether the consumer hands out one event at a time, so that those of one key stay in order.
func (s *Consumer) isOrdered() bool { return s.name.Partition != "" }

// filters returns the subjects of new events, and of those that are delivered again to this service alone, if the
// stream takes them.
func (s *Consumer) filters(stream jetstream.Stream) []string {
	partition := cmp.Or(s.name.Partition, AnyToken)
	filters := []string{s.of.store.Event(s.name.Event, partition)}
	if again := s.of.store.Retried(s.of.config.Host, s.name.Event, partition); stores(stream, again) {
		filters = append(filters, again)
	}
	return filters
}

// hasFilters reports whether a consumer has these filters and no others, in any order.
func hasFilters(config jetstream.ConsumerConfig, wanted []string) bool {
	if config.FilterSubject != "" {
		return slices.Equal(wanted, []string{config.FilterSubject})
	}
	return len(config.FilterSubjects) == len(wanted) &&
		!slices.ContainsFunc(wanted, func(filter string) bool { return !slices.Contains(config.FilterSubjects, filter) })
}

// recreate creates the consumer again, which was deleted, or got other limits. A consumer whose place others have taken
// is not: instances of another version handle the events then.
func (s *Consumer) recreate() {
	ctx, cancel := context.WithTimeout(s.of.config.Base, natsconn.DefaultTimeout)
	defer cancel()
	stream, err := s.of.store.ensureStreams(ctx)
	if err == nil {
		err = s.notReplaced(ctx, stream)
	}
	if err == nil {
		err = s.ensure(ctx, stream)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fetchTimer.Reset(fetchRetry)
		s.warn("the consumer cannot be created again: " + s.of.store.failed(err).Detail)
		return
	}
	s.missing = false
}

// errReplaced is the reason why a consumer is not created again.
var errReplaced = errors.New("instances of another version handle the events: the key of the event, " +
	"by which they are in order, was declared or removed")

func (s *Consumer) notReplaced(ctx context.Context, stream jetstream.Stream) error {
	_, err := stream.Consumer(ctx, s.name.otherForm()[0].String())
	switch {
	case err == nil:
		return errReplaced
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil
	default:
		return err
	}
}
