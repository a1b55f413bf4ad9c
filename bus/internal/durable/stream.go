// Package durable keeps events in JetStream: it stores them, fetches them for a service, delivers them again after a
// failure, and keeps those that a service cannot handle as dead letters.
//
// A [Stream] is the log of the events of one publisher. A [Consumer] fetches those of one kind for an instance of a
// service, and hands each of them to the server as a request whose response goes to JetStream: a delivery. A [Watch]
// looks how far the services are. Only the option events.Durable refers to consumers, and to storing events, so that a
// program without it does not link that code.
package durable

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Config is what streams and consumers of a connection work with. All fields are set, those at the end only for
// consumers.
type Config struct {
	*server.Server                              // of the connection
	API            string                       // the prefix of the subjects of JetStream: "$JS.API"
	Inbox          string                       // the response subject; events come below it
	Log            func(*zerolog.Event, string) // writes a line without blocking
	IsClosing      func() bool

	// LimitedLine begins a line that any client can cause, or returns nil if many of that reason were written a moment
	// ago.
	LimitedLine func(level zerolog.Level, reason string) *zerolog.Event

	// Failure returns the error of a response of status 400 or above.
	Failure func(*wire.Response) *status.Error
	// Subscriptions returns the number of subscriptions of the connection.
	Subscriptions func() int
	// StartWaiting calls StartWaiting of all subscriptions of the connection, of last at the end.
	StartWaiting func(last *Subscription)
}

// Limits are the limits of a stream; zero stands for the default, or for the limit of the existing stream.
type Limits struct {
	Age      time.Duration
	Bytes    int64
	Replicas int
}

// Stream is the log of the events of a publisher: a stream of JetStream that keeps the newest events, whichever
// services have handled them. It drops the oldest, so a service that is far behind stops no publisher. It is safe for
// concurrent use.
type Stream struct {
	Names
	config *Config
	limits Limits // set by the publisher; zero for a service

	watch    atomic.Pointer[Watch]               // of its subscribers; nil for a service
	managers atomic.Pointer[jetstream.JetStream] // the latest; nil before the first
	// the configuration that the stream had last; nil: not yet known
	seen            atomic.Pointer[jetstream.StreamConfig]
	seenDeadLetters atomic.Pointer[jetstream.StreamConfig] // the same of the stream of dead letters
}

// NewStream returns the stream of a publisher without creating it, for a service that subscribes.
func NewStream(config *Config, publisher string) *Stream {
	return &Stream{Names: Names{config.Plane, publisher}, config: config}
}

// eventSubject returns the subject of the stored event with a path of one segment: "/on-ordered".
func (s *Stream) eventSubject(path, key string) (string, error) {
	segments, err := subject.Segments(path)
	if err != nil {
		return "", status.Unsent(err)
	}
	if len(segments) != 1 {
		return "", status.NotRun(http.StatusBadRequest, nil,
			"the path %s of a stored event has more than one segment: use a path such as /on-ordered", path)
	}
	return s.Event(subject.Escape(segments[0]), partitionOf(key)), nil
}

const (
	duplicateWindow = 2 * time.Minute

	defaultKeepAge   = 7 * 24 * time.Hour
	defaultKeepBytes = 1 << 30

	// Limits of the dead letters of a publisher.
	deadLetterAge   = 30 * 24 * time.Hour
	deadLetterBytes = 64 << 20
)

// Open returns the stream of a publisher with these limits. It creates the stream if there is none.
func Open(ctx context.Context, config *Config, publisher string, limits Limits) (*Stream, error) {
	if limits.Age < 0 || limits.Bytes < 0 || limits.Replicas < 0 {
		return nil, status.NotRun(http.StatusBadRequest, nil,
			"events of %s: events.MaxAge, events.MaxBytes and events.Replicas take no limits below zero", publisher)
	}
	s := NewStream(config, publisher)
	s.limits = limits
	if _, err := s.ensure(ctx); err != nil {
		return nil, s.failed(err)
	}
	if err := s.replicateDeadLetters(ctx); err != nil {
		return nil, s.failed(err)
	}
	return s, nil
}

// manager returns the client of JetStream for the present connection to the broker.
func (s *Stream) manager() (jetstream.JetStream, error) {
	conn := s.config.Broker.NATS()
	if known := s.managers.Load(); known != nil && (*known).Conn() == conn {
		return *known, nil
	}
	manager, err := jetstream.NewWithAPIPrefix(conn, s.config.API)
	if err == nil {
		s.managers.Store(&manager)
	}
	return manager, err
}

// find returns an existing stream.
func (s *Stream) find(ctx context.Context, name string) (jetstream.Stream, error) {
	manager, err := s.manager()
	if err != nil {
		return nil, err
	}
	return manager.Stream(ctx, name)
}

// ensure creates the stream, or updates its limits. A stream that another client has created keeps its subjects.
func (s *Stream) ensure(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.findOrCreate(ctx)
	if err == nil {
		s.seen.Store(&stream.CachedInfo().Config)
	}
	return stream, err
}

func (s *Stream) findOrCreate(ctx context.Context) (jetstream.Stream, error) {
	manager, err := s.manager()
	if err != nil {
		return nil, err
	}
	stream, err := manager.Stream(ctx, s.Events())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = manager.CreateStream(ctx, s.newConfig())
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return stream, err
		}
		stream, err = manager.Stream(ctx, s.Events()) // another instance was faster, with other limits
	}
	if err != nil {
		return nil, err
	}
	config := stream.CachedInfo().Config
	if changed := s.limits.over(config); changed.MaxAge != config.MaxAge || changed.MaxBytes != config.MaxBytes ||
		changed.Replicas != config.Replicas {
		stream, err = manager.UpdateStream(ctx, changed)
	}
	return stream, err
}

// stores reports whether a stream takes what is published to a subject.
func stores(stream jetstream.Stream, published string) bool {
	return slices.ContainsFunc(stream.CachedInfo().Config.Subjects, func(pattern string) bool {
		return subject.Covers(pattern, published)
	})
}

// newConfig returns the configuration of a new stream: that of the one before it, because a service that creates the
// stream again does not know the limits of the publisher.
func (s *Stream) newConfig() jetstream.StreamConfig {
	if seen := s.seen.Load(); seen != nil {
		return s.limits.over(*seen)
	}
	return s.limits.over(jetstream.StreamConfig{
		Name: s.Events(), Description: "events of " + s.Publisher,
		Subjects:  []string{s.Event(AnyToken, AnyToken), s.Retried(AnyToken, AnyToken, AnyToken)},
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, Storage: jetstream.FileStorage,
		MaxAge: defaultKeepAge, MaxBytes: defaultKeepBytes, Replicas: 1, Duplicates: duplicateWindow,
	})
}

// over returns a configuration with these limits.
func (l Limits) over(config jetstream.StreamConfig) jetstream.StreamConfig {
	if l.Age > 0 {
		config.MaxAge = l.Age
		config.Duplicates = min(config.Duplicates, l.Age) // more is refused
	}
	if l.Bytes > 0 {
		config.MaxBytes = l.Bytes
	}
	if l.Replicas > 0 {
		config.Replicas = l.Replicas
	}
	return config
}

// ensureDeadLetters creates the stream of dead letters, on as many servers as the stream of events, with the
// configuration of the one before it, which may have had other limits.
func (s *Stream) ensureDeadLetters(ctx context.Context, replicas int) error {
	manager, err := s.manager()
	if err != nil {
		return err
	}
	stream, err := manager.Stream(ctx, s.DeadLetters())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		config := jetstream.StreamConfig{
			Name: s.DeadLetters(), Description: "events of " + s.Publisher + " that could not be handled",
			Subjects: []string{s.DeadLetter(AnyToken, AnyToken, AnyToken)},
			Storage:  jetstream.FileStorage, MaxAge: deadLetterAge, MaxBytes: deadLetterBytes, Duplicates: duplicateWindow,
		}
		if seen := s.seenDeadLetters.Load(); seen != nil {
			config = *seen
		}
		config.Replicas = replicas
		stream, err = manager.CreateStream(ctx, config)
	}
	if err == nil {
		s.seenDeadLetters.Store(&stream.CachedInfo().Config)
	}
	return err
}

// replicateDeadLetters stores dead letters on as many servers as the events, if the publisher sets a number. There is
// no stream of dead letters before a service has subscribed.
func (s *Stream) replicateDeadLetters(ctx context.Context) error {
	if s.limits.Replicas == 0 {
		return nil
	}
	stream, err := s.find(ctx, s.DeadLetters())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	config := stream.CachedInfo().Config
	if config.Replicas == s.limits.Replicas {
		return nil
	}
	manager, err := s.manager()
	if err != nil {
		return err
	}
	config.Replicas = s.limits.Replicas
	_, err = manager.UpdateStream(ctx, config)
	return err
}

// Permissions returns the permissions that a publisher needs.
func (s *Stream) Permissions() (publish, subscribe []natsconn.Permission) {
	publish = append(s.config.streamPermissions(s.Events(), "the stream of the events of "+s.Publisher),
		natsconn.Permission{Subject: s.config.API + ".STREAM.UPDATE." + s.Events(), For: "changing what it keeps"},
		natsconn.Permission{Subject: s.Event(AnyToken, AnyToken), For: "storing events of " + s.Publisher},
		natsconn.Permission{Subject: s.Later(AnyToken, AnyToken), For: "those of events.At"},
	)
	if s.limits.Replicas > 0 {
		publish = append(publish,
			natsconn.Permission{Subject: s.config.API + ".STREAM.INFO." + s.DeadLetters(),
				For: "finding the stream of dead letters"},
			natsconn.Permission{Subject: s.config.API + ".STREAM.UPDATE." + s.DeadLetters(),
				For: "changing on how many servers it is"},
		)
	}
	return append(publish, s.watchPermissions()...), s.config.inboxPermissions()
}

// streamPermissions returns the permissions to find a stream and to create it.
func (c *Config) streamPermissions(name, what string) []natsconn.Permission {
	return []natsconn.Permission{
		{Subject: c.API + ".STREAM.INFO." + name, For: "finding " + what},
		{Subject: c.API + ".STREAM.CREATE." + name, For: "creating it, unless another service does"},
	}
}

func (c *Config) inboxPermissions() []natsconn.Permission {
	return []natsconn.Permission{{Subject: c.Broker.InboxPrefix() + ">", For: "answers of JetStream"}}
}
