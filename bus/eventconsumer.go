package bus

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
	// storedAckWait is how long JetStream waits to hear of an event before it gives it to another instance.
	storedAckWait = 30 * time.Second

	// leastRemembered is how long a service is remembered at least that does not ask for events: longer than a handler may take.
	leastRemembered = time.Hour

	// What is kept of events that could not be handled.
	parkedAge   = 30 * 24 * time.Hour
	parkedBytes = 64 << 20
)

func (s *pullConsumer) stream() string { return s.store.name() }
func (s *pullConsumer) parked() string { return s.store.parkedName() }

func (s *pullConsumer) parkedEvents() (source, event string, count int64) {
	return s.source, s.event, s.unhandled.Load()
}

// ensure makes the streams and the consumer. One that is new has what is fired from now on. It is forgotten when no instance
// has asked for as long as events are kept.
func (s *pullConsumer) ensure(ctx context.Context) error {
	stream, err := s.ensureStreams(ctx)
	if err != nil {
		return err
	}
	return s.ensureConsumer(ctx, stream)
}

// ensureStreams makes the streams of the source.
func (s *pullConsumer) ensureStreams(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.store.ensure(ctx)
	if err != nil {
		return nil, err
	}
	return stream, s.ensureParked(ctx, stream.CachedInfo().Config.Replicas)
}

// ensureConsumer makes the consumer, or changes it. One that is as it should be it leaves, which takes no permission for
// either.
func (s *pullConsumer) ensureConsumer(ctx context.Context, stream jetstream.Stream) error {
	var existing jetstream.ConsumerConfig
	switch consumer, err := stream.Consumer(ctx, s.consumer); {
	case err == nil:
		existing = consumer.CachedInfo().Config
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		existing.Description = "what " + s.conn.host + " has not handled"
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
		existing = made.CachedInfo().Config
	}
	s.askAtMost(existing.MaxRequestBatch, existing.MaxRequestExpires)
	return nil
}

// over returns the configuration of a consumer with what this instance relies on.
func (s *pullConsumer) over(config jetstream.ConsumerConfig, stream jetstream.Stream) jetstream.ConsumerConfig {
	if wanted := s.filters(stream); !hasFilters(config, wanted) {
		config.FilterSubject, config.FilterSubjects = "", wanted
	}
	config.Durable = s.consumer
	config.DeliverPolicy, config.AckPolicy, config.AckWait = jetstream.DeliverNewPolicy, jetstream.AckExplicitPolicy, storedAckWait
	config.MaxDeliver = -1
	if config.MaxAckPending == 0 { // it is new; an operator, or the broker, may want fewer
		config.MaxAckPending = maxUnfinished
	}
	config.InactiveThreshold = forgottenAfter(stream.CachedInfo().Config)
	return config
}

// forgottenAfter is how long a consumer of a stream may stay without a request, 0: for ever. While all its instances are busy there
// is none, either, however short the events are kept.
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

// filters are the subjects of what is new, and of what is delivered again to this service alone, if the stream takes that.
func (s *pullConsumer) filters(stream jetstream.Stream) []string {
	filters := []string{subject.Event(s.conn.plane, s.source, s.event)}
	if again := subject.RetriedEvent(s.conn.plane, s.source, hostToken(s.conn.host), s.event); stores(stream, again) {
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

// ensureParked makes the stream for events that could not be handled, on as many servers as that of the others.
func (s *pullConsumer) ensureParked(ctx context.Context, replicas int) error {
	stream, err := s.store.parked(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = s.makeParked(ctx, replicas)
	}
	if err == nil {
		s.store.seenParked.Store(&stream.CachedInfo().Config)
	}
	return err
}

// makeParked makes it with what the one had that was there before: it may have been given other limits.
func (s *pullConsumer) makeParked(ctx context.Context, replicas int) (jetstream.Stream, error) {
	manager, err := s.store.manager()
	if err != nil {
		return nil, err
	}
	config := jetstream.StreamConfig{
		Name: s.parked(), Description: "events of " + s.source + " that could not be handled",
		Subjects: []string{subject.ParkedEvent(s.conn.plane, s.source, anyLabel, anyLabel)},
		Storage:  jetstream.FileStorage, MaxAge: parkedAge, MaxBytes: parkedBytes, Duplicates: duplicateWindow,
	}
	if seen := s.store.seenParked.Load(); seen != nil {
		config = *seen
	}
	config.Replicas = replicas
	return manager.CreateStream(ctx, config)
}

// permissions are for a service that has stored events.
func (s *pullConsumer) permissions() (publish, subscribe []Permission) {
	publish = append(streamPermissions(s.stream(), "the stream of the events of "+s.source), streamPermissions(s.parked(), "the stream of parked events")...)
	return append(publish,
		Permission{Subject: "$JS.API.CONSUMER.INFO." + s.stream() + "." + s.consumer, For: "finding its consumer of " + s.event},
		Permission{Subject: "$JS.API.CONSUMER.CREATE." + s.stream() + "." + s.consumer, For: "creating it, unless somebody else does"},
		Permission{Subject: "$JS.API.CONSUMER.MSG.NEXT." + s.stream() + "." + s.consumer, For: "asking for " + s.event},
		Permission{Subject: "$JS.ACK." + s.stream() + "." + s.consumer + ".>", For: "acknowledging " + s.event},
		Permission{Subject: subject.ParkedEvent(s.conn.plane, s.source, hostToken(s.conn.host), anyLabel), For: "parking events that could not be handled"},
	), s.conn.inboxPermissions()
}

const (
	// askExpiry is how long JetStream keeps a request for events.
	askExpiry = 5 * time.Second
	// askGrace is how long after that it is taken for lost.
	askGrace = time.Second
	// askAgain is how long to wait when something is wrong.
	askAgain = time.Second
)

// fetch asks for events, unless some may still come.
func (s *pullConsumer) fetch() {
	if s.conn.isClosing() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room := min(s.config.inFlight-s.inFlight, s.share())
	if s.atMost > 0 {
		room = min(room, s.atMost)
	}
	expiry := min(askExpiry, cmp.Or(s.atLongest, askExpiry))
	if s.asked > 0 || len(s.held) > 0 || room <= 0 || s.missing {
		return
	}
	request, err := json.Marshal(struct {
		Batch   int           `json:"batch"`
		Expires time.Duration `json:"expires"`
	}{room, expiry})
	if err == nil {
		err = s.conn.broker.PublishNow("$JS.API.CONSUMER.MSG.NEXT."+s.stream()+"."+s.consumer, s.inbox, request)
	}
	if err != nil { // the broker is away
		s.again.Reset(askAgain)
		return
	}
	s.asked = room
	s.again.Reset(expiry + askGrace)
}

// askAtMost limits how many events are asked for at a time, and for how long, as the consumer or the broker may; 0: they do not.
func (s *pullConsumer) askAtMost(events int, expiry time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atMost, s.atLongest = events, expiry
}

// share is for how many events of this kind there is room among the handlers. It is one at least: that waits for its turn here,
// or a kind with many events could keep all others from having one.
func (s *pullConsumer) share() int {
	return max(1, s.conn.handlers.FreeForEvents()/max(1, len(s.conn.events.reading())))
}

// fetchNow asks at once, whatever may still come.
func (s *pullConsumer) fetchNow() { s.again.Reset(0) }

// askLater is what the timer does: what was asked for has not come, or something was wrong.
func (s *pullConsumer) askLater() {
	if s.conn.isClosing() {
		return // or it would try again for ever
	}
	s.mu.Lock()
	s.asked = 0
	missing := s.missing
	s.mu.Unlock()
	if missing {
		s.recreateConsumer()
	}
	s.fetch()
}

// recreateConsumer makes the consumer anew, which was deleted, or given other limits.
func (s *pullConsumer) recreateConsumer() {
	ctx, cancel := context.WithTimeout(s.conn.base, natsconn.DefaultTimeout)
	defer cancel()
	err := s.ensure(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.again.Reset(askAgain)
		s.warnLocked("the consumer cannot be created again: " + s.store.failed(err).Detail)
		return
	}
	s.missing = false
}

// warnLocked tells once that no events come.
func (s *pullConsumer) warnLocked(why string) {
	if !s.warned && !s.conn.isClosing() {
		s.conn.log(s.conn.logger.Warn().Str("source", s.source).Str("consumer", s.consumer).Str("reason", why),
			"stored events cannot be fetched; the instance keeps trying")
	}
	s.warned = true
}

// handleStatus takes what JetStream says instead of an event: as a rule that none has come in time. That a server shuts down, or that
// another one has the consumer from now on, is no reason to warn.
func (s *pullConsumer) handleStatus(status, description string) {
	s.mu.Lock()
	s.asked = 0
	says := func(what string) bool { return strings.HasPrefix(description, what) }
	switch {
	case status == "408", status == "404", says("Batch Completed"), says("Leadership Change"):
		s.mu.Unlock()
		s.fetch()
		return
	case says("Server Shutdown"):
	case status == "503":
		s.missing = true
		s.warnLocked("503 no server answers for the consumer: it is gone, or they are")
	default:
		s.missing = s.missing || strings.Contains(strings.ToLower(description), "deleted") || says("Exceeded MaxRequest")
		s.warnLocked(status + " " + description)
	}
	s.again.Reset(askAgain)
	s.mu.Unlock()
}
