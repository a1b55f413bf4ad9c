package bus

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/subject"
)

// eventStream is the JetStream stream that keeps the events of a source until each service that subscribes has handled
// them.
type eventStream struct {
	conn   *Conn
	source string
	limits storeLimits // that a source asks for; zero: none

	seen       atomic.Pointer[jetstream.StreamConfig] // what it was when it was looked at last; nil: not yet
	seenParked atomic.Pointer[jetstream.StreamConfig] // the same of the stream of parked events
}

// streamName names a stream of a source: "bus_EVENTS_orders_example". A host has neither capital letters nor underscores,
// so that no two planes and hosts share one.
func streamName(plane, what, source string) string {
	return plane + "_" + what + "_" + hostToken(source)
}

// hostToken is a host as JetStream takes it for a name.
func hostToken(host string) string { return strings.ReplaceAll(host, ".", "_") }

// eventSubject is where the event of a path is stored, which has one segment: "/on-ordered".
func (s *eventStream) eventSubject(path string) (string, error) {
	segments, err := subject.Segments(path)
	if err != nil {
		return "", unsent(err)
	}
	if len(segments) != 1 {
		return "", newError(http.StatusBadRequest, ExecutedNo, nil, "the path %s of a stored event has more than one segment: use a path such as /on-ordered", path)
	}
	return subject.Event(s.conn.plane, s.source, subject.Escape(segments[0])), nil
}

// consumerName names the consumer of a service for an event: "mailer_example__on-ordered". A host has no empty label, so that no
// two services and events share one.
func consumerName(host, event string) string { return hostToken(host) + "__" + event }

const duplicateWindow = 2 * time.Minute

// openEventStream makes the stream of a source when there is none, and gives it the limits that are asked for.
func openEventStream(ctx context.Context, c *Conn, source string, config firingConfig) (eventStore, error) {
	if limits := config.limits; limits.age < 0 || limits.bytes < 0 || limits.replicas < 0 {
		return nil, newError(http.StatusBadRequest, ExecutedNo, nil, "events of %s: bus.MaxAge, bus.MaxBytes and bus.Replicas take no limits below zero", source)
	}
	s := &eventStream{conn: c, source: source, limits: config.limits}
	if _, err := s.ensure(ctx); err != nil {
		return nil, s.failed(err)
	}
	if err := s.replicateParked(ctx); err != nil {
		return nil, s.failed(err)
	}
	return s, nil
}

func (s *eventStream) name() string       { return streamName(s.conn.plane, "EVENTS", s.source) }
func (s *eventStream) parkedName() string { return streamName(s.conn.plane, "PARKED", s.source) }

func (s *eventStream) manager() (jetstream.JetStream, error) { return jetstream.New(s.conn.NATS()) }

// ensure makes the stream, or changes what it is to keep. One that somebody else has made keeps its subjects.
func (s *eventStream) ensure(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.findOrMake(ctx)
	if err == nil {
		s.seen.Store(&stream.CachedInfo().Config)
	}
	return stream, err
}

func (s *eventStream) findOrMake(ctx context.Context) (jetstream.Stream, error) {
	manager, err := s.manager()
	if err != nil {
		return nil, err
	}
	stream, err := manager.Stream(ctx, s.name())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = manager.CreateStream(ctx, s.config())
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return stream, err
		}
		stream, err = manager.Stream(ctx, s.name()) // somebody else was faster, with other limits
	}
	if err != nil {
		return nil, err
	}
	config := stream.CachedInfo().Config
	if changed := s.limits.over(config); changed.MaxAge != config.MaxAge || changed.MaxBytes != config.MaxBytes || changed.Replicas != config.Replicas {
		stream, err = manager.UpdateStream(ctx, changed)
	}
	return stream, err
}

// stores says whether a stream takes what is published to a subject.
func stores(stream jetstream.Stream, published string) bool {
	return covered(published, stream.CachedInfo().Config.Subjects)
}

// covered says whether one of some subjects, which may have wildcards, covers another.
func covered(published string, by []string) bool {
	return slices.ContainsFunc(by, func(taken string) bool {
		return Permission{Subject: taken}.covers(Permission{Subject: published})
	})
}

// replicateParked has parked events on as many servers as the others, if the source asks for a number of them. As long as no
// service has subscribed there is no stream for them.
func (s *eventStream) replicateParked(ctx context.Context) error {
	if s.limits.replicas == 0 {
		return nil
	}
	stream, err := s.parked(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	config := stream.CachedInfo().Config
	if config.Replicas == s.limits.replicas {
		return nil
	}
	manager, err := s.manager()
	if err != nil {
		return err
	}
	config.Replicas = s.limits.replicas
	_, err = manager.UpdateStream(ctx, config)
	return err
}

// config is what a new stream is made with: that of the one which was there before, as a service that makes it anew knows no
// limits of its source. It refuses what it has no room for, so that the source hears of it.
func (s *eventStream) config() jetstream.StreamConfig {
	if seen := s.seen.Load(); seen != nil {
		return s.limits.over(*seen)
	}
	return s.limits.over(jetstream.StreamConfig{
		Name: s.name(), Description: "events of " + s.source,
		Subjects: []string{
			subject.Event(s.conn.plane, s.source, anyLabel),
			subject.RetriedEvent(s.conn.plane, s.source, anyLabel, anyLabel),
		},
		Retention: jetstream.InterestPolicy, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage,
		MaxAge: defaultKeepAge, MaxBytes: defaultKeepBytes, Replicas: 1, Duplicates: duplicateWindow,
	})
}

// over returns a configuration with the limits that are asked for.
func (l storeLimits) over(config jetstream.StreamConfig) jetstream.StreamConfig {
	if l.age > 0 {
		config.MaxAge = l.age
		config.Duplicates = min(config.Duplicates, l.age) // more is refused
	}
	if l.bytes > 0 {
		config.MaxBytes = l.bytes
	}
	if l.replicas > 0 {
		config.Replicas = l.replicas
	}
	return config
}

// permissions are for a source.
func (s *eventStream) permissions() (publish, subscribe []Permission) {
	publish = append(streamPermissions(s.name(), "the stream of the events of "+s.source),
		Permission{Subject: "$JS.API.STREAM.UPDATE." + s.name(), For: "changing what it keeps"},
		Permission{Subject: subject.Event(s.conn.plane, s.source, anyLabel), For: "storing events of " + s.source},
	)
	if s.limits.replicas > 0 {
		publish = append(publish,
			Permission{Subject: "$JS.API.STREAM.INFO." + s.parkedName(), For: "finding the stream of parked events"},
			Permission{Subject: "$JS.API.STREAM.UPDATE." + s.parkedName(), For: "changing on how many servers it is"},
		)
	}
	return publish, s.conn.inboxPermissions()
}

// streamPermissions are for finding a stream and making it.
func streamPermissions(name, what string) []Permission {
	return []Permission{
		{Subject: "$JS.API.STREAM.INFO." + name, For: "finding " + what},
		{Subject: "$JS.API.STREAM.CREATE." + name, For: "creating it, unless somebody else does"},
	}
}

func (c *Conn) inboxPermissions() []Permission {
	return []Permission{{Subject: c.link.inboxes() + anyRest, For: "answers of JetStream"}}
}
