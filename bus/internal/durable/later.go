package durable

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
)

// Headers of a message that JetStream publishes later to another subject of the stream, and of what it then publishes.
const (
	scheduleHeader  = "Nats-Schedule"
	targetHeader    = "Nats-Schedule-Target"
	schedulerHeader = "Nats-Scheduler"
	rollupHeader    = "Nats-Rollup" // replaces the messages of the subject before this one
)

// schedule makes the message of an event one that JetStream stores under the subject of the event later. There it has
// no id of its own, so that it keeps this one in another header.
func (s *Stream) schedule(message *nats.Msg, id string, at time.Time) {
	message.Header.Set(scheduleHeader, "@at "+at.UTC().Format(time.RFC3339Nano))
	message.Header.Set(targetHeader, message.Subject)
	message.Header.Set(EventIDHeader, id)
	message.Subject = s.Later(eventToken(message.Subject), idToken(id))
}

// idToken returns an id as a token of a subject. A broker cuts off clients whose subjects have thousands of characters.
func idToken(id string) string {
	const longest = 128
	if token := subject.Escape(id); len(token) <= longest {
		return token
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// eventToken returns the token of the event in the subject of a stored event.
func eventToken(stored string) string {
	tokens := strings.Split(stored, ".")
	return tokens[len(tokens)-2]
}

// allowLater has the stream take events that come later. Those of a stream without are none, and it stays as it was
// until the first of them: a broker may not know them.
func (s *Stream) allowLater(ctx context.Context, at time.Time) error {
	config := s.seen.Load()
	if config == nil || !s.isLater(config) {
		stream, err := s.ensure(ctx)
		if err == nil && !s.isLater(&stream.CachedInfo().Config) {
			stream, err = s.updateForLater(ctx, stream.CachedInfo().Config)
		}
		if err != nil {
			return s.failed(err)
		}
		config = &stream.CachedInfo().Config
		s.seen.Store(config)
	}
	if !s.isLater(config) {
		return status.NotRun(http.StatusNotImplemented, nil, "the broker (nats-server %s) cannot store events of %s for "+
			"later: events.At and events.After need nats-server 2.12 or later on all servers, events.Every 2.14",
			s.config.Broker.NATS().ConnectedServerVersion(), s.Publisher)
	}
	return s.checkTime(config, at)
}

// checkTime returns an error for the time of an event that the log would have dropped by then.
func (s *Stream) checkTime(config *jetstream.StreamConfig, at time.Time) error {
	if age := config.MaxAge; age > 0 && time.Until(at) >= age {
		return status.NotRun(http.StatusBadRequest, nil, "an event of %s cannot come at %s: the log keeps events for %s; "+
			"choose an earlier time, or a longer one of events.MaxAge", s.Publisher, at.Format(time.RFC3339), age)
	}
	return nil
}

// isLater reports whether a stream takes events that come later.
func (s *Stream) isLater(config *jetstream.StreamConfig) bool {
	return config.AllowMsgSchedules && slices.Contains(config.Subjects, s.Later(AnyToken, AnyToken))
}

func (s *Stream) updateForLater(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	manager, err := s.manager()
	if err != nil {
		return nil, err
	}
	config.AllowMsgSchedules, config.AllowRollup, config.DenyPurge = true, true, false
	if later := s.Later(AnyToken, AnyToken); !slices.Contains(config.Subjects, later) {
		config.Subjects = append(slices.Clone(config.Subjects), later)
	}
	return manager.UpdateStream(ctx, config)
}

// Cancel drops the event of a path and an id that has not come yet. It replaces the event with a message that JetStream
// does not publish, which takes no further permission.
func (s *Stream) Cancel(ctx context.Context, path, id string) error {
	to, err := s.eventSubject(path, "")
	if err != nil {
		return err
	}
	if !s.config.Broker.NATS().IsConnected() {
		return natsconn.ErrOutOfReach()
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := s.allowLater(ctx, time.Time{}); err != nil {
		return err
	}
	message := nats.NewMsg(to)
	s.schedule(message, path+" "+id, time.Time{})
	message.Header = nats.Header{rollupHeader: {"sub"}}
	return s.store(ctx, message, nats.NewInbox(), "")
}
