package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/subject"
)

const (
	// ackWait is the time after which JetStream delivers an event to another instance, if it has not heard of it.
	ackWait = 30 * time.Second

	// leastRemembered is the least time after which JetStream deletes a consumer that does not fetch. It is longer than a handler may take.
	leastRemembered = time.Hour

	maxAckPending = 10_000 // unacknowledged deliveries of one event to all instances of a service

	// Limits of the dead letters of a source.
	parkedAge   = 30 * 24 * time.Hour
	parkedBytes = 64 << 20
)

func (s *Consumer) stream() string { return s.store.name() }
func (s *Consumer) parked() string { return s.store.parkedName() }

// DeadLettered returns the source and the event of the consumer, and how many such events became dead letters here.
func (s *Consumer) DeadLettered() (source, event string, count int64) {
	return s.source, s.event, s.deadLetters.Load()
}

// ensure creates the streams and the consumer. A new consumer gets the events that are stored from now on. JetStream deletes the consumer
// when no instance has fetched for as long as events are kept.
func (s *Consumer) ensure(ctx context.Context) error {
	stream, err := s.ensureStreams(ctx)
	if err != nil {
		return err
	}
	return s.ensureConsumer(ctx, stream)
}

// ensureStreams creates the streams of the source.
func (s *Consumer) ensureStreams(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.store.ensure(ctx)
	if err != nil {
		return nil, err
	}
	return stream, s.ensureParked(ctx, stream.CachedInfo().Config.Replicas)
}

// ensureConsumer creates the consumer, or updates it. A consumer that needs no update takes no permission for one.
func (s *Consumer) ensureConsumer(ctx context.Context, stream jetstream.Stream) error {
	var existing jetstream.ConsumerConfig
	consumer, err := stream.Consumer(ctx, s.consumer)
	switch {
	case err == nil:
		existing = consumer.CachedInfo().Config
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		existing.Description = "what " + s.config.Host + " has not handled"
	default:
		return err
	}
	if wanted := s.over(existing, stream); !reflect.DeepEqual(wanted, existing) {
		made, err := stream.CreateOrUpdateConsumer(ctx, wanted)
		if isAPIError(err, tooManyPending) {
			wanted.MaxAckPending = 0 // the broker chooses
			made, err = stream.CreateOrUpdateConsumer(ctx, wanted)
		}
		if err != nil {
			return err
		}
		existing, consumer = made.CachedInfo().Config, made
	}
	s.noteFirst(stream, consumer)
	s.limitFetches(existing.MaxRequestBatch, existing.MaxRequestExpires)
	return nil
}

// over returns the configuration of a consumer with the settings that this instance relies on.
func (s *Consumer) over(config jetstream.ConsumerConfig, stream jetstream.Stream) jetstream.ConsumerConfig {
	if wanted := s.filters(stream); !hasFilters(config, wanted) {
		config.FilterSubject, config.FilterSubjects = "", wanted
	}
	config.Durable = s.consumer
	config.DeliverPolicy, config.AckPolicy, config.AckWait = jetstream.DeliverNewPolicy, jetstream.AckExplicitPolicy, ackWait
	config.MaxDeliver = -1
	if config.MaxAckPending == 0 { // it is new; an operator, or the broker, may want fewer
		config.MaxAckPending = maxAckPending
	}
	config.InactiveThreshold = forgottenAfter(stream.CachedInfo().Config)
	return config
}

// forgottenAfter returns the time after which JetStream deletes a consumer of a stream that does not fetch; 0 means never. Busy instances
// do not fetch either, so it may be longer than the events are kept.
func forgottenAfter(config jetstream.StreamConfig) time.Duration {
	after := config.MaxAge
	if after > 0 {
		after = max(after, leastRemembered)
	}
	if most := config.ConsumerLimits.InactiveThreshold; most > 0 && (after == 0 || after > most) {
		return most
	}
	return after
}

// filters returns the subjects of new events, and of those that are delivered again to this service alone, if the stream takes them.
func (s *Consumer) filters(stream jetstream.Stream) []string {
	filters := []string{subject.Event(s.config.Plane, s.source, s.event)}
	if again := subject.RetriedEvent(s.config.Plane, s.source, hostToken(s.config.Host), s.event); stores(stream, again) {
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

// delivers reports whether a consumer has a filter that takes a subject, or none at all.
func delivers(config jetstream.ConsumerConfig, published string) bool {
	return hasFilters(config, nil) || covered(published, append(config.FilterSubjects, config.FilterSubject))
}

// ensureParked creates the stream of dead letters, on as many servers as the stream of events.
func (s *Consumer) ensureParked(ctx context.Context, replicas int) error {
	stream, err := s.store.parked(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = s.createParked(ctx, replicas)
	}
	if err == nil {
		s.store.seenParked.Store(&stream.CachedInfo().Config)
	}
	return err
}

// createParked creates the stream of dead letters with the configuration of the one before it, which may have had other limits.
func (s *Consumer) createParked(ctx context.Context, replicas int) (jetstream.Stream, error) {
	manager, err := s.store.manager()
	if err != nil {
		return nil, err
	}
	config := jetstream.StreamConfig{
		Name: s.parked(), Description: "events of " + s.source + " that could not be handled",
		Subjects: []string{subject.ParkedEvent(s.config.Plane, s.source, anyToken, anyToken)},
		Storage:  jetstream.FileStorage, MaxAge: parkedAge, MaxBytes: parkedBytes, Duplicates: duplicateWindow,
	}
	if seen := s.store.seenParked.Load(); seen != nil {
		config = *seen
	}
	config.Replicas = replicas
	return manager.CreateStream(ctx, config)
}

// Permissions returns the permissions that a service needs for the consumer.
func (s *Consumer) Permissions() (publish, subscribe []Permission) {
	publish = append(streamPermissions(s.stream(), "the stream of the events of "+s.source), streamPermissions(s.parked(), "the stream of parked events")...)
	return append(publish,
		Permission{Subject: "$JS.API.CONSUMER.INFO." + s.stream() + "." + s.consumer, For: "finding its consumer of " + s.event},
		Permission{Subject: "$JS.API.CONSUMER.CREATE." + s.stream() + "." + s.consumer, For: "creating it, unless another service does"},
		Permission{Subject: "$JS.API.CONSUMER.MSG.NEXT." + s.stream() + "." + s.consumer, For: "asking for " + s.event},
		Permission{Subject: "$JS.ACK." + s.stream() + "." + s.consumer + ".>", For: "acknowledging " + s.event},
		Permission{Subject: subject.ParkedEvent(s.config.Plane, s.source, hostToken(s.config.Host), anyToken), For: "parking events that could not be handled"},
	), s.config.inboxPermissions()
}

const (
	// fetchExpiry is how long JetStream keeps a fetch.
	fetchExpiry = 5 * time.Second
	// fetchGrace is the time after that until the fetch counts as lost.
	fetchGrace = time.Second
	// fetchRetry is the pause before the next fetch after a failure.
	fetchRetry = time.Second
)

// Fetch asks JetStream for events, unless some may still come.
func (s *Consumer) Fetch() {
	if s.config.IsClosing() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room := min(s.options.MaxInFlight-s.inFlight, s.share())
	if s.maxBatch > 0 {
		room = min(room, s.maxBatch)
	}
	expiry := min(fetchExpiry, cmp.Or(s.maxExpiry, fetchExpiry))
	if s.fetching > 0 || len(s.waiting) > 0 || room <= 0 || s.missing {
		return
	}
	request, err := json.Marshal(struct {
		Batch   int           `json:"batch"`
		Expires time.Duration `json:"expires"`
	}{room, expiry})
	if err == nil {
		err = s.config.Broker.PublishNow("$JS.API.CONSUMER.MSG.NEXT."+s.stream()+"."+s.consumer, s.inbox, request)
	}
	if err != nil { // the broker is away
		s.fetchTimer.Reset(fetchRetry)
		return
	}
	s.fetching = room
	s.fetchTimer.Reset(expiry + fetchGrace)
}

// limitFetches sets the limits of the consumer and the broker: the events of one fetch, and its expiry; 0 for no limit.
func (s *Consumer) limitFetches(events int, expiry time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maxBatch, s.maxExpiry = events, expiry
}

// share returns how many events of this kind the handlers have room for. It is at least one, which then waits here: otherwise a kind with
// many events could starve the others.
func (s *Consumer) share() int {
	return max(1, s.config.Handlers.FreeForEvents()/max(1, s.config.Consumers()))
}

// FetchNow fetches at once, whatever may still come: the broker may have forgotten the last fetch.
func (s *Consumer) FetchNow() {
	s.fetchTimer.Reset(0)
	s.awaitTimer.Reset(0)
}

// fetchLater is called by the timer: the last fetch is lost, or has failed.
func (s *Consumer) fetchLater() {
	if s.config.IsClosing() {
		return // or it would try again for ever
	}
	s.mu.Lock()
	s.fetching = 0
	missing := s.missing
	s.mu.Unlock()
	if missing {
		s.recreateConsumer()
	}
	s.Fetch()
}

// recreateConsumer creates the consumer again, which was deleted, or got other limits.
func (s *Consumer) recreateConsumer() {
	ctx, cancel := context.WithTimeout(s.config.Base, natsconn.DefaultTimeout)
	defer cancel()
	err := s.ensure(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fetchTimer.Reset(fetchRetry)
		s.warnLocked("the consumer cannot be created again: " + s.store.failed(err).Detail)
		return
	}
	s.missing = false
}

// warnLocked logs that no events come, once.
func (s *Consumer) warnLocked(why string) {
	if !s.warned && !s.config.IsClosing() {
		s.config.Log(s.config.Logger.Warn().Str("source", s.source).Str("consumer", s.consumer).Str("reason", why),
			"stored events cannot be fetched; the instance keeps trying")
	}
	s.warned = true
}

// handleStatus handles what JetStream sends in place of an event: usually, that none has come in time. It does not warn if a server shuts
// down, or another server takes over the consumer.
func (s *Consumer) handleStatus(status, description string) {
	s.mu.Lock()
	s.fetching = 0
	says := func(what string) bool { return strings.HasPrefix(description, what) }
	switch {
	case status == "408", status == "404", says("Batch Completed"), says("Leadership Change"):
		s.mu.Unlock()
		s.Fetch()
		return
	case says("Server Shutdown"):
	case status == "503":
		s.missing = true
		s.warnLocked("503 no server answers for the consumer: it is gone, or they are")
	default:
		s.missing = s.missing || strings.Contains(strings.ToLower(description), "deleted") || says("Exceeded MaxRequest")
		s.warnLocked(status + " " + description)
	}
	s.fetchTimer.Reset(fetchRetry)
	s.mu.Unlock()
}
