package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

const (
	// storeTimeout bounds how long storing an event may take: a cluster of brokers that has lost the leader of a stream
	// needs up to 9 s to have another one.
	storeTimeout = 15 * time.Second

	// storeAttempt is how long JetStream may take to answer one attempt. A leader that was lost with its answer is not
	// waited for.
	storeAttempt = time.Second

	// storePause comes before the next attempt, if JetStream has answered at once that it cannot store now.
	storePause = 250 * time.Millisecond
)

// Event is an event that is to be stored.
type Event struct {
	Path    string    // "/on-ordered"
	ID      string    // JetStream drops an event under a path and an id that were used; "" stands for an id of its own
	Key     string    // events with equal keys are kept in order; "" for none
	At      time.Time // when it comes; zero for at once
	Request *wire.Request
}

// Store stores an event, and returns when JetStream has confirmed that.
func (s *Stream) Store(ctx context.Context, event Event) error {
	message, id, err := s.message(event)
	if err != nil {
		return err
	}
	if !s.config.Broker.NATS().IsConnected() {
		return natsconn.ErrOutOfReach()
	}
	ctx, cancel := context.WithTimeout(ctx, min(callctx.Budget(ctx), storeTimeout))
	defer cancel()
	if !event.At.IsZero() {
		if err := s.allowLater(ctx, event.At); err != nil {
			return err
		}
	}
	return s.store(ctx, message, id, event.Request.MsgID)
}

// store publishes a message to the log, and returns the error as one of an event.
func (s *Stream) store(ctx context.Context, message *nats.Msg, id, msgID string) error {
	recreate := func(ctx context.Context) error {
		stream, err := s.ensure(ctx)
		if err == nil && !stores(stream, message.Subject) {
			return errors.New("the stream is another client's, and does not take the event") // however long one waits
		}
		return err
	}
	if doubtful, err := s.publish(ctx, message, id, recreate); err != nil {
		if isAPIError(err, streamStoreFailed) {
			err = fmt.Errorf("%w%s", err, s.laggard())
		}
		failed := s.failed(err)
		failed.MsgID = msgID
		if doubtful {
			failed.Executed = status.ExecutedUnknown
		}
		return failed
	}
	return nil
}

// Check returns the error of Store for an event that can never be stored.
func (s *Stream) Check(event Event) error {
	_, _, err := s.message(event)
	if seen := s.seen.Load(); err == nil && seen != nil {
		err = s.checkTime(seen, event.At)
	}
	return err
}

// message returns what is stored of an event, and the id by which JetStream knows it. The token of the actor and
// the proof of the caller are left out: they would lie on a disk, and expire before they are read.
func (s *Stream) message(event Event) (message *nats.Msg, id string, err error) {
	text := *event.Request
	text.Actor, text.CallerProof, text.TimeBudget = "", "", wire.DefaultTimeBudget
	to, err := s.eventSubject(event.Path, cmp.Or(event.Key, text.MsgID))
	if err != nil {
		return nil, "", err
	}
	message = nats.NewMsg(to)
	message.Data = wire.AppendRequest(nil, &text)
	id = text.MsgID
	if event.ID != "" {
		id = event.Path + " " + event.ID
	}
	if !event.At.IsZero() {
		s.schedule(message, id, event.At)
	}
	if limit := s.config.Broker.MaxPayload(); len(message.Data)+len(id) > limit-deadLetterRoom {
		return nil, "", status.NotRun(http.StatusRequestEntityTooLarge, nats.ErrMaxPayload,
			"an event of %d bytes exceeds the broker's limit of %d, of which %d are reserved for a dead letter",
			len(message.Data), limit, deadLetterRoom)
	}
	const longest = 16 << 10 // the broker takes 64 kB of headers; those of events.At have the id twice
	if len(id) > longest {
		return nil, "", status.NotRun(http.StatusRequestEntityTooLarge, nil, "an id of %d bytes, with the path, exceeds the "+
			"limit of %d: shorten the id of events.WithID, such as to its SHA-256", len(id), longest)
	}
	return message, id, nil
}

// publish stores a message under an id. It tries until JetStream has answered, which stores only one message of an id.
// If the stream is gone, recreate is called. An error is doubtful if the message may be stored in spite of it.
func (s *Stream) publish(ctx context.Context, message *nats.Msg, id string,
	recreate func(context.Context) error) (doubtful bool, err error) {
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
		if attempt == 2 && isTimeout(err) { // a stream whose disk is full does not answer publishers, but answers others
			answers = within(ctx, storeAttempt, func(ctx context.Context) error {
				_, err := manager.Stream(ctx, s.Events())
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
	noPeers           = 10005 // too few servers have JetStream, or room
	notClustered      = 10074 // there is one server
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
		return status.MayHaveRun(http.StatusInsufficientStorage, errors.Join(status.ErrTimeout, err),
			"the stream %s answers, but does not store: its disk may be full or broken; make room, and restart the JetStream "+
				"of its server", s.Events())
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount),
		errors.Is(err, nats.ErrNoResponders):
		return status.NotRun(http.StatusServiceUnavailable, err,
			"the events of %s cannot be stored: the broker has no JetStream for %s; turn it on, or leave out events.Durable",
			s.Publisher, s.config.Broker.User())
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return status.NotRun(http.StatusServiceUnavailable, err,
			"no stream takes the events of %s: the stream %s is gone, or too many of its servers are, "+
				"or the broker does not let %s publish to it", s.Publisher, s.Events(), s.config.Broker.User())
	case apiError != nil && apiError.ErrorCode == streamStoreFailed:
		return status.NotRun(http.StatusInsufficientStorage, err, "the event is not stored: the stream %s has no room: %s; "+
			"let it drop the oldest events (nats stream edit --discard old), or give it more", s.Events(),
			strings.TrimPrefix(err.Error(), "nats: "))
	case apiError != nil && slices.Contains([]jetstream.ErrorCode{brokerFull, accountFull, storageFull},
		apiError.ErrorCode):
		return status.NotRun(http.StatusInsufficientStorage, err,
			"JetStream has no room for the stream %s: %s; give it more (max_file_store), or ask for less with events.MaxBytes",
			s.Events(), apiError.Description)
	case apiError != nil && s.limits.Replicas > 1 &&
		slices.Contains([]jetstream.ErrorCode{noPeers, notClustered}, apiError.ErrorCode):
		return status.NotRun(http.StatusServiceUnavailable, err, "the events of %s cannot be stored on %d servers: %s; "+
			"the broker needs as many in a cluster, or events.Replicas a smaller number", s.Publisher, s.limits.Replicas,
			apiError.Description)
	case apiError != nil:
		return status.NotRun(http.StatusServiceUnavailable, err, "the stream %s: %s", s.Events(), apiError.Description)
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return status.Of(natsconn.ErrOutOfReach())
	case isTimeout(err):
		return status.MayHaveRun(http.StatusGatewayTimeout, errors.Join(status.ErrTimeout, err),
			"the stream %s did not answer%s", s.Events(), s.config.denialHint())
	default:
		return status.MayHaveRun(http.StatusServiceUnavailable, err, "the stream %s: %s", s.Events(), err)
	}
}

// denialHint returns what the broker denied last, if JetStream may be silent because of that.
func (c *Config) denialHint() string {
	denied, err := c.Broker.LastViolation()
	if err == nil || !strings.HasPrefix(denied.Subject, "$JS.") &&
		!strings.HasPrefix(denied.Subject, c.Broker.InboxPrefix()) && !strings.HasPrefix(denied.Subject, c.Plane+".") {
		return ""
	}
	return fmt.Sprintf("; %s", err)
}
