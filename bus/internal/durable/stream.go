// Package durable keeps events in JetStream: it stores them, fetches them for a service, delivers them again after a failure, and keeps
// those that a service cannot handle as dead letters.
//
// A [Stream] holds the events of one publisher. A [Consumer] fetches those of one kind for an instance of a service, and hands each of them
// to the server as a request whose response goes to JetStream: a delivery. Only the option bus.Durable refers to consumers, and to
// storing events, so that a program without it does not link that code.
package durable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Config is what streams and consumers of a connection work with. All fields are set, those at the end only for consumers.
type Config struct {
	*server.Server                              // of the connection
	Inbox          string                       // the response subject; events come below it
	Log            func(*zerolog.Event, string) // writes a line without blocking
	IsClosing      func() bool

	// Failure returns the error that a response of status 400 or above tells.
	Failure func(*wire.Response) *status.Error
	// Consumers returns the number of consumers of the connection.
	Consumers func() int
	// StartWaiting calls StartWaiting of all consumers of the connection, of last at the end.
	StartWaiting func(last *Consumer)
}

// Permission is a permission to publish or to subscribe that streams and consumers need.
type Permission struct {
	Subject string
	For     string // the purpose, for people
}

// Limits are the limits of a stream; zero stands for the default, or for the limit of the existing stream.
type Limits struct {
	Age      time.Duration
	Bytes    int64
	Replicas int
}

// Stream is the JetStream stream that keeps the events of a source until each service that subscribes has handled
// them. It is safe for concurrent use.
type Stream struct {
	config *Config
	source string
	limits Limits // set by the source; zero for a service

	seen       atomic.Pointer[jetstream.StreamConfig] // the configuration that the stream had last; nil: not yet known
	seenParked atomic.Pointer[jetstream.StreamConfig] // the same of the stream of dead letters
}

// NewStream returns the stream of a source without creating it, for a service that subscribes.
func NewStream(config *Config, source string) *Stream { return &Stream{config: config, source: source} }

// streamName returns the name of a stream of a source: "bus_EVENTS_orders_example". A host has neither capital letters nor underscores,
// so no two planes and hosts share one.
func streamName(plane, what, source string) string {
	return plane + "_" + what + "_" + hostToken(source)
}

// hostToken returns a host as a token of a subject, and as a part of a name in JetStream.
func hostToken(host string) string { return strings.ReplaceAll(host, ".", "_") }

// eventSubject returns the subject of the stored event with a path of one segment: "/on-ordered".
func (s *Stream) eventSubject(path string) (string, error) {
	segments, err := subject.Segments(path)
	if err != nil {
		return "", status.Unsent(err)
	}
	if len(segments) != 1 {
		return "", status.Errorf(http.StatusBadRequest, status.ExecutedNo, nil, "the path %s of a stored event has more than one segment: use a path such as /on-ordered", path)
	}
	return subject.Event(s.config.Plane, s.source, subject.Escape(segments[0])), nil
}

// consumerName returns the name of the consumer of a service for an event: "mailer_example__on-ordered". A host has no empty label, so no
// two services and events share one.
func consumerName(host, event string) string { return hostToken(host) + "__" + event }

const (
	duplicateWindow = 2 * time.Minute

	defaultKeepAge   = 7 * 24 * time.Hour
	defaultKeepBytes = 256 << 20

	anyToken = "*" // of a subject
)

// Open returns the stream of a source with these limits. It creates the stream if there is none.
func Open(ctx context.Context, config *Config, source string, limits Limits) (*Stream, error) {
	if limits.Age < 0 || limits.Bytes < 0 || limits.Replicas < 0 {
		return nil, status.Errorf(http.StatusBadRequest, status.ExecutedNo, nil, "events of %s: bus.MaxAge, bus.MaxBytes and bus.Replicas take no limits below zero", source)
	}
	s := &Stream{config: config, source: source, limits: limits}
	if _, err := s.ensure(ctx); err != nil {
		return nil, s.failed(err)
	}
	if err := s.replicateParked(ctx); err != nil {
		return nil, s.failed(err)
	}
	return s, nil
}

func (s *Stream) name() string       { return streamName(s.config.Plane, "EVENTS", s.source) }
func (s *Stream) parkedName() string { return streamName(s.config.Plane, "PARKED", s.source) }

func (s *Stream) manager() (jetstream.JetStream, error) { return jetstream.New(s.config.Broker.NATS()) }

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
	stream, err := manager.Stream(ctx, s.name())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = manager.CreateStream(ctx, s.newConfig())
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return stream, err
		}
		stream, err = manager.Stream(ctx, s.name()) // another instance was faster, with other limits
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

// stores reports whether a stream takes what is published to a subject.
func stores(stream jetstream.Stream, published string) bool {
	return covered(published, stream.CachedInfo().Config.Subjects)
}

// covered reports whether one of some subjects, which may have wildcards, covers another.
func covered(published string, by []string) bool {
	return slices.ContainsFunc(by, func(taken string) bool {
		return subject.Covers(taken, published)
	})
}

// replicateParked stores dead letters on as many servers as the events, if the source sets a number. There is no stream of dead letters
// before a service has subscribed.
func (s *Stream) replicateParked(ctx context.Context) error {
	if s.limits.Replicas == 0 {
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

// newConfig returns the configuration of a new stream: that of the one before it, because a service that creates the stream again does
// not know the limits of the source. A full stream refuses new events, so that the source gets an error.
func (s *Stream) newConfig() jetstream.StreamConfig {
	if seen := s.seen.Load(); seen != nil {
		return s.limits.over(*seen)
	}
	return s.limits.over(jetstream.StreamConfig{
		Name: s.name(), Description: "events of " + s.source,
		Subjects: []string{
			subject.Event(s.config.Plane, s.source, anyToken),
			subject.RetriedEvent(s.config.Plane, s.source, anyToken, anyToken),
		},
		Retention: jetstream.InterestPolicy, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage,
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

// Permissions returns the permissions that a source needs.
func (s *Stream) Permissions() (publish, subscribe []Permission) {
	publish = append(streamPermissions(s.name(), "the stream of the events of "+s.source),
		Permission{Subject: "$JS.API.STREAM.UPDATE." + s.name(), For: "changing what it keeps"},
		Permission{Subject: subject.Event(s.config.Plane, s.source, anyToken), For: "storing events of " + s.source},
	)
	if s.limits.Replicas > 0 {
		publish = append(publish,
			Permission{Subject: "$JS.API.STREAM.INFO." + s.parkedName(), For: "finding the stream of parked events"},
			Permission{Subject: "$JS.API.STREAM.UPDATE." + s.parkedName(), For: "changing on how many servers it is"},
		)
	}
	return publish, s.config.inboxPermissions()
}

// streamPermissions returns the permissions to find a stream and to create it.
func streamPermissions(name, what string) []Permission {
	return []Permission{
		{Subject: "$JS.API.STREAM.INFO." + name, For: "finding " + what},
		{Subject: "$JS.API.STREAM.CREATE." + name, For: "creating it, unless another service does"},
	}
}

func (c *Config) inboxPermissions() []Permission {
	return []Permission{{Subject: c.Broker.InboxPrefix() + ">", For: "answers of JetStream"}}
}

const (
	// storeTimeout bounds how long storing an event may take: a cluster of brokers that has lost the leader of a stream needs up
	// to 9 s to have another one.
	storeTimeout = 15 * time.Second

	// storeAttempt is how long JetStream may take to answer one attempt. A leader that was lost with its answer is not waited for.
	storeAttempt = time.Second

	// storePause comes before the next attempt, if JetStream has answered at once that it cannot store now.
	storePause = 250 * time.Millisecond
)

// Store stores an event, and returns when JetStream has confirmed that. JetStream drops an event under a path and an id that were used;
// "" stands for an id of its own. The token of the actor is left out: it would lie on a disk, and expire before it is read.
func (s *Stream) Store(ctx context.Context, path, id, _ string, event *wire.Request) error {
	text := *event
	text.Actor, text.TimeBudget = "", wire.DefaultTimeBudget
	to, err := s.eventSubject(path)
	if err != nil {
		return err
	}
	message := nats.NewMsg(to)
	message.Data = wire.AppendRequest(nil, &text)
	if id == "" {
		id = event.MsgID
	} else {
		id = path + " " + id
	}
	if limit := s.config.Broker.MaxPayload(); len(message.Data)+len(id) > limit-parkingRoom {
		return status.Errorf(http.StatusRequestEntityTooLarge, status.ExecutedNo, nats.ErrMaxPayload,
			"an event of %d bytes exceeds the broker's limit of %d, of which %d are reserved for parking it", len(message.Data), limit, parkingRoom)
	}
	if !s.config.Broker.NATS().IsConnected() {
		return natsconn.ErrOutOfReach()
	}
	ctx, cancel := context.WithTimeout(ctx, min(callctx.Budget(ctx), storeTimeout))
	defer cancel()
	recreate := func(ctx context.Context) error {
		stream, err := s.ensure(ctx)
		if err == nil && !stores(stream, to) {
			return errors.New("the stream is another client's, and does not take the event") // however long one waits
		}
		return err
	}
	if doubtful, err := s.publish(ctx, message, id, recreate); err != nil {
		failed := s.failed(err)
		failed.MsgID = event.MsgID
		if doubtful {
			failed.Executed = status.ExecutedUnknown
		}
		return failed
	}
	return nil
}

// publish stores a message under an id. It tries until JetStream has answered, which stores only one message of an id. If the stream is
// gone, recreate is called. An error is doubtful if the message may be stored in spite of it.
func (s *Stream) publish(ctx context.Context, message *nats.Msg, id string, recreate func(context.Context) error) (doubtful bool, err error) {
	manager, err := s.manager()
	if err != nil {
		return false, err
	}
	answers := false
	for attempt := 1; ; attempt++ {
		err = within(ctx, storeAttempt, func(ctx context.Context) error {
			_, err := manager.PublishMsg(ctx, message, jetstream.WithMsgID(id))
			return err
		})
		doubtful = err != nil && (doubtful || isTimeout(err))
		if attempt == 2 && isTimeout(err) { // a stream whose disk is full tells publishers nothing, and others what it has
			answers = within(ctx, storeAttempt, func(ctx context.Context) error {
				_, err := manager.Stream(ctx, s.name())
				return err
			}) == nil
		}
		if answers && isTimeout(err) {
			err = fmt.Errorf("%w: %w", errStoresNothing, err)
		}
		if !s.isTransient(err) || s.denies(message.Subject) {
			return doubtful, err
		}
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			if failed := within(ctx, storeAttempt, recreate); failed != nil && !s.isTransient(failed) {
				return doubtful, err
			}
		} else if !isTimeout(err) {
			pause(ctx, storePause)
		}
		if ctx.Err() != nil {
			return doubtful, err
		}
	}
}

// within calls run with a context that ends after most.
func within(ctx context.Context, most time.Duration, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return run(ctx)
}

func pause(ctx context.Context, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(most):
	}
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

// Error codes of JetStream.
const (
	streamStoreFailed = 10077 // the stream is full
	brokerFull        = 10023 // and so is what the broker may store in all
	accountFull       = 10002 // or the account
	storageFull       = 10047 // or what is set aside for streams
	notAvailable      = 10008 // a leader is being chosen
	streamOffline     = 10118 // the servers that have the stream are away
	stillInProcess    = 10158 // a message of this id was taken, and is not stored yet
	tooManyPending    = 10121 // of a consumer: more than the broker, the account or the stream allows
)

// isTransient reports whether JetStream may succeed at the next attempt: a cluster may be choosing another leader.
func (s *Stream) isTransient(err error) bool {
	if apiError, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch apiError.ErrorCode {
		case notAvailable, streamOffline, stillInProcess:
			return true
		default:
			return false
		}
	}
	return isTimeout(err) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// isAPIError reports whether JetStream has answered with an error code.
func isAPIError(err error, code jetstream.ErrorCode) bool {
	apiError, ok := errors.AsType[*jetstream.APIError](err)
	return ok && apiError.ErrorCode == code
}

// denies reports whether the broker's last report is that it denied publishing to a subject.
func (s *Stream) denies(subject string) bool {
	denied, _ := s.config.Broker.LastViolation()
	return denied == natsconn.Violation{Publish: true, Subject: subject}
}

// errStoresNothing is the cause of errors that say that a stream is there, and confirms nothing.
var errStoresNothing = errors.New("the stream stores nothing")

// failed returns the error of an operation on the stream.
func (s *Stream) failed(err error) *status.Error {
	apiError, _ := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, errStoresNothing):
		return status.Errorf(http.StatusInsufficientStorage, status.ExecutedUnknown, errors.Join(status.ErrTimeout, err),
			"the stream %s answers, but does not store: its disk may be full or broken; make room, and restart the JetStream of its server", s.name())
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, err,
			"the events of %s cannot be stored: the broker has no JetStream for %s; turn it on, or leave out bus.Durable", s.source, s.config.Broker.User())
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, err,
			"no stream takes the events of %s: the stream %s is gone, or too many of its servers are, or the broker does not let %s publish to it", s.source, s.name(), s.config.Broker.User())
	case apiError != nil && apiError.ErrorCode == streamStoreFailed:
		return status.Errorf(http.StatusInsufficientStorage, status.ExecutedNo, err, "the event is not stored: the stream %s has no room: %s; see bus.MaxBytes", s.name(), apiError.Description)
	case apiError != nil && slices.Contains([]jetstream.ErrorCode{brokerFull, accountFull, storageFull}, apiError.ErrorCode):
		return status.Errorf(http.StatusInsufficientStorage, status.ExecutedNo, err, "JetStream has no room for the stream %s: %s; give it more, or remove what is not needed", s.name(), apiError.Description)
	case apiError != nil:
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, err, "the stream %s: %s", s.name(), apiError.Description)
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return status.Of(natsconn.ErrOutOfReach())
	case isTimeout(err):
		return status.Errorf(http.StatusGatewayTimeout, status.ExecutedUnknown, errors.Join(status.ErrTimeout, err), "the stream %s did not answer%s", s.name(), s.config.denialHint())
	default:
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedUnknown, err, "the stream %s: %s", s.name(), err)
	}
}

// denialHint returns what the broker denied last, if JetStream may be silent because of that.
func (c *Config) denialHint() string {
	denied, err := c.Broker.LastViolation()
	if err == nil || !strings.HasPrefix(denied.Subject, "$JS.") && !strings.HasPrefix(denied.Subject, c.Broker.InboxPrefix()) && !strings.HasPrefix(denied.Subject, c.Plane+".") {
		return ""
	}
	return fmt.Sprintf("; %s", err)
}
