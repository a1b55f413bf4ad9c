package bus

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

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
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

// ensure makes the stream, or changes what it is to keep. One that another client has made keeps its subjects.
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
	return []Permission{{Subject: c.broker.InboxPrefix() + anyRest, For: "answers of JetStream"}}
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

// keep stores the text of an event, and returns when JetStream has confirmed that. The token of the actor is left out: it
// would lie on a disk, and have expired when it is read.
func (s *eventStream) keep(ctx context.Context, event *clientCall) error {
	text := event.Request
	text.Actor, text.TimeBudget = "", wire.DefaultTimeBudget
	to, err := s.eventSubject(event.Address.Path)
	if err != nil {
		return err
	}
	message := nats.NewMsg(to)
	message.Data = wire.AppendRequest(nil, &text)
	id := event.MsgID
	if given, ok := ctx.Value(eventIDKey{}).(string); ok && given != "" {
		id = event.Address.Path + " " + given
	}
	if limit := s.conn.broker.MaxPayload(); len(message.Data)+len(id) > limit-parkingRoom {
		return newError(http.StatusRequestEntityTooLarge, ExecutedNo, nats.ErrMaxPayload,
			"an event of %d bytes exceeds the broker's limit of %d, of which %d are reserved for parking it", len(message.Data), limit, parkingRoom)
	}
	if !s.conn.Connected() {
		return natsconn.ErrOutOfReach()
	}
	ctx, cancel := context.WithTimeout(ctx, min(callctx.Budget(ctx), storeTimeout))
	defer cancel()
	anew := func(ctx context.Context) error {
		stream, err := s.ensure(ctx)
		if err == nil && !stores(stream, to) {
			return errors.New("the stream is somebody else's, and does not take the event") // however long one waits
		}
		return err
	}
	if doubtful, err := s.store(ctx, message, id, anew); err != nil {
		failed := s.failed(err)
		failed.MsgID = event.MsgID
		if doubtful {
			failed.Executed = ExecutedUnknown
		}
		return failed
	}
	return nil
}

// store stores a message under an id. It tries until JetStream has answered, which stores what has the same id only once. If
// the stream is gone, it is made anew. An error is doubtful if the message may be stored in spite of it.
func (s *eventStream) store(ctx context.Context, message *nats.Msg, id string, anew func(context.Context) error) (doubtful bool, err error) {
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
		if !s.mayPass(err) || s.denies(message.Subject) {
			return doubtful, err
		}
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			if failed := within(ctx, storeAttempt, anew); failed != nil && !s.mayPass(failed) {
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

// within runs what takes a context with less time.
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

// mayPass reports whether it makes sense to ask JetStream once more: a cluster may be choosing another leader.
func (s *eventStream) mayPass(err error) bool {
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
func (s *eventStream) denies(subject string) bool {
	denied, _ := s.conn.broker.LastViolation()
	return denied == natsconn.Violation{Publish: true, Subject: subject}
}

// errStoresNothing is the cause of errors that say that a stream is there, and confirms nothing.
var errStoresNothing = errors.New("the stream stores nothing")

// failed is the error for a stream that does not do what it should.
func (s *eventStream) failed(err error) *Error {
	apiError, _ := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, errStoresNothing):
		return newError(http.StatusInsufficientStorage, ExecutedUnknown, errors.Join(ErrTimeout, err),
			"the stream %s answers, but does not store: its disk may be full or broken; make room, and restart the JetStream of its server", s.name())
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return newError(http.StatusServiceUnavailable, ExecutedNo, err,
			"the events of %s cannot be stored: the broker has no JetStream for %s; turn it on, or leave out bus.Durable", s.source, s.conn.broker.User())
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return newError(http.StatusServiceUnavailable, ExecutedNo, err,
			"nobody takes the events of %s: the stream %s is gone, or too many of its servers are, or the broker does not let %s publish to it", s.source, s.name(), s.conn.broker.User())
	case apiError != nil && apiError.ErrorCode == streamStoreFailed:
		return newError(http.StatusInsufficientStorage, ExecutedNo, err, "the event is not stored: the stream %s has no room: %s; see bus.MaxBytes", s.name(), apiError.Description)
	case apiError != nil && slices.Contains([]jetstream.ErrorCode{brokerFull, accountFull, storageFull}, apiError.ErrorCode):
		return newError(http.StatusInsufficientStorage, ExecutedNo, err, "JetStream has no room for the stream %s: %s; give it more, or remove what is not needed", s.name(), apiError.Description)
	case apiError != nil:
		return newError(http.StatusServiceUnavailable, ExecutedNo, err, "the stream %s: %s", s.name(), apiError.Description)
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return asError(natsconn.ErrOutOfReach())
	case isTimeout(err):
		return newError(http.StatusGatewayTimeout, ExecutedUnknown, errors.Join(ErrTimeout, err), "the stream %s did not answer%s", s.name(), s.conn.denialHint())
	default:
		return newError(http.StatusServiceUnavailable, ExecutedUnknown, err, "the stream %s: %s", s.name(), err)
	}
}

// denialHint says what the broker denied last, if that may be why JetStream is silent.
func (c *Conn) denialHint() string {
	denied, err := c.broker.LastViolation()
	if err == nil || !strings.HasPrefix(denied.Subject, "$JS.") && !strings.HasPrefix(denied.Subject, c.broker.InboxPrefix()) && !strings.HasPrefix(denied.Subject, c.plane+".") {
		return ""
	}
	return fmt.Sprintf("; %s", err)
}
