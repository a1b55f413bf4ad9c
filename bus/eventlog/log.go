package eventlog

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/durable"
)

// Log is the log of a publisher: its stored events, and who subscribes to them.
type Log struct {
	Publisher string        `json:"publisher"`
	Events    int           `json:"events"`   // number of events that are kept
	Bytes     int64         `json:"bytes"`    // their size, with what is redelivered
	MaxBytes  int64         `json:"maxBytes"` // size from which the oldest are dropped; -1: no limit
	MaxAge    time.Duration `json:"maxAge"`   // age at which they are dropped, in nanoseconds; 0: no limit
	Replicas  int           `json:"replicas"`
	First     time.Time     `json:"first,omitzero"` // when the first event that is kept was stored; zero if there is none
	Last      time.Time     `json:"last,omitzero"`  // when the last message was stored; zero if there is none

	FirstSequence uint64 `json:"firstSequence"` // of the oldest message; what is below has been dropped

	Kinds         []Kind         `json:"kinds"`         // by event
	Subscriptions []Subscription `json:"subscriptions"` // by service and event
}

// Kind is a kind of events in a log.
type Kind struct {
	Event  string `json:"event"`  // "on-ordered"
	Stored int    `json:"stored"` // number of events that are kept
}

// Subscription is what a service has subscribed to: one event of a publisher.
type Subscription struct {
	Service     string `json:"service"`
	Event       string `json:"event"`
	Ordered     bool   `json:"ordered"`     // events with equal keys are handled in order
	Backlog     int    `json:"backlog"`     // number of events that are not handled, those in flight included
	InFlight    int    `json:"inFlight"`    // number of events that were delivered and are not handled
	Redelivered int    `json:"redelivered"` // number of those that were delivered more than once
	// when the oldest event that is not handled was stored; zero if there is none
	Oldest      time.Time  `json:"oldest,omitzero"`
	LastHandled *time.Time `json:"lastHandled,omitzero"` // nil: not known
	// number of requests with which instances wait for events; 0: probably, none runs
	Waiting     int      `json:"waiting"`
	DeadLetters int      `json:"deadLetters"`
	CutOff      []CutOff `json:"cutOff"` // the oldest first
}

// CutOff records that the log has dropped events before a service could handle them.
type CutOff struct {
	At     time.Time `json:"at"`     // when that was noted
	Events int       `json:"events"` // about how many
	Until  time.Time `json:"until"`  // events that were stored before are gone
}

// Publishers describes the logs of all publishers on the plane of a connection, sorted by publisher.
func Publishers(ctx context.Context, conn *bus.Conn) ([]Log, error) {
	publishers, err := Hosts(ctx, conn)
	if err != nil {
		return nil, err
	}
	logs := make([]Log, 0, len(publishers))
	for _, publisher := range publishers {
		described, err := Describe(ctx, conn, publisher)
		if bus.StatusOf(err) == http.StatusNotFound {
			continue // it was deleted just now
		}
		if err != nil {
			return nil, err
		}
		logs = append(logs, described)
	}
	return logs, nil
}

// Hosts returns the publishers on the plane of a connection that have a log, sorted.
func Hosts(ctx context.Context, conn *bus.Conn) ([]string, error) {
	c, err := newClient(conn)
	if err != nil {
		return nil, err
	}
	return c.publishers(ctx)
}

// Describe describes the log of a publisher.
func Describe(ctx context.Context, conn *bus.Conn, publisher string) (Log, error) {
	c, log, err := openLog(ctx, conn, publisher)
	if err != nil {
		return Log{}, err
	}
	info := log.CachedInfo()
	described := Log{
		Publisher: publisher, Bytes: int64(info.State.Bytes),
		MaxBytes: info.Config.MaxBytes, MaxAge: info.Config.MaxAge, Replicas: info.Config.Replicas,
		FirstSequence: info.State.FirstSeq,
	}
	if described.Kinds, err = c.kinds(ctx, log); err != nil {
		return Log{}, err
	}
	for _, kind := range described.Kinds {
		described.Events += kind.Stored
	}
	if info.State.Msgs > 0 {
		described.Last = info.State.LastTime
	}
	if described.First, err = c.first(ctx, log); err != nil {
		return Log{}, err
	}
	described.Subscriptions, err = c.subscriptions(ctx, log)
	return described, err
}

// first returns when the first event in a log was stored; zero if there is none.
func (c *client) first(ctx context.Context, log jetstream.Stream) (time.Time, error) {
	message, err := c.message(ctx, log, 1, c.names.Event(durable.AnyToken, durable.AnyToken))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, c.failed(err)
	default:
		return message.Time, nil
	}
}

// kinds returns the kinds of events in a log, by event.
func (c *client) kinds(ctx context.Context, log jetstream.Stream) ([]Kind, error) {
	subjects, err := c.counts(ctx, log, c.names.Event(durable.AnyToken, durable.AnyToken))
	if err != nil {
		return nil, err
	}
	stored := make(map[string]int)
	for of, count := range subjects {
		_, event, _ := lastTokens(of)
		stored[eventName(event)] += int(count)
	}
	kinds := make([]Kind, 0, len(stored))
	for _, event := range slices.Sorted(maps.Keys(stored)) {
		kinds = append(kinds, Kind{event, stored[event]})
	}
	return kinds, nil
}

// subscriptions returns the subscriptions to a log, each as the sum of its consumers.
func (c *client) subscriptions(ctx context.Context, log jetstream.Stream) ([]Subscription, error) {
	consumers, err := c.consumers(ctx, log)
	if err != nil {
		return nil, err
	}
	// The oldest event of a subscription is found early, and consumers that are beyond it are not asked.
	slices.SortFunc(consumers, func(a, b consumer) int { return cmp.Compare(a.AckFloor.Stream, b.AckFloor.Stream) })
	byName := make(map[durable.ConsumerName]*Subscription)
	oldest := make(map[durable.ConsumerName]uint64)
	for i := range consumers {
		each := &consumers[i]
		name := each.ConsumerName
		name.Partition = ""
		sum := byName[name]
		if sum == nil {
			sum = &Subscription{Service: name.Service, Event: eventName(name.Event), CutOff: []CutOff{}}
			byName[name] = sum
		}
		sum.add(each)
		if each.backlog() == 0 || !sum.Oldest.IsZero() && each.AckFloor.Stream >= oldest[name] {
			continue
		}
		message, err := c.oldest(ctx, log, each)
		if err != nil {
			return nil, err
		}
		if message != nil && (sum.Oldest.IsZero() || message.Sequence < oldest[name]) {
			sum.Oldest, oldest[name] = message.Time, message.Sequence
		}
	}
	if err := c.addDeadLetters(ctx, byName); err != nil {
		return nil, err
	}
	all := make([]Subscription, 0, len(byName))
	for _, each := range byName {
		all = append(all, *each)
	}
	slices.SortFunc(all, func(a, b Subscription) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Event, b.Event))
	})
	return all, nil
}

// add adds the counts of a consumer.
func (s *Subscription) add(of *consumer) {
	s.Ordered = s.Ordered || of.Partition != ""
	s.Backlog += of.backlog()
	s.InFlight += of.NumAckPending
	s.Redelivered += of.NumRedelivered
	s.Waiting += of.NumWaiting
	if last := of.AckFloor.Last; last != nil && (s.LastHandled == nil || last.After(*s.LastHandled)) {
		s.LastHandled = last
	}
}

// addDeadLetters adds the dead letters of subscriptions, and what was cut off.
func (c *client) addDeadLetters(ctx context.Context, byName map[durable.ConsumerName]*Subscription) error {
	stream, err := c.stream(ctx, c.names.DeadLetters())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil // no service has subscribed
	}
	if err != nil {
		return c.failed(err)
	}
	subjects, err := c.counts(ctx, stream, c.names.DeadLetter(durable.AnyToken, durable.AnyToken, durable.AnyToken))
	if err != nil {
		return err
	}
	for of, count := range subjects {
		service, event, partition := lastTokens(of)
		sum := byName[durable.ConsumerName{Service: durable.Host(service), Event: event}]
		switch {
		case sum == nil: // the service has left
		case partition == durable.CutOffToken:
			if sum.CutOff, err = c.cutOff(ctx, stream, of); err != nil {
				return err
			}
		default:
			sum.DeadLetters += int(count)
		}
	}
	return nil
}

// cutOff reads the records under a subject.
func (c *client) cutOff(ctx context.Context, stream jetstream.Stream, of string) (records []CutOff, err error) {
	err = c.each(ctx, stream, of, 0, func(message *jetstream.RawStreamMsg) bool {
		record := CutOff{At: message.Time}
		record.Events, _ = strconv.Atoi(message.Header.Get(durable.CutOffEventsHeader))
		record.Until, _ = time.Parse(time.RFC3339Nano, message.Header.Get(durable.CutOffUntilHeader))
		records = append(records, record)
		return true
	})
	return records, err
}

// each yields the messages that a stream has now under a subject and after a sequence number, the oldest first, until
// yield returns false.
func (c *client) each(ctx context.Context, stream jetstream.Stream, filter string, after uint64,
	yield func(*jetstream.RawStreamMsg) bool) error {
	last := stream.CachedInfo().State.LastSeq
	for next := after + 1; next <= last; {
		message, err := c.message(ctx, stream, next, filter)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return c.failed(err)
		}
		if message.Sequence > last || !yield(message) {
			return nil
		}
		next = message.Sequence + 1
	}
	return nil
}
