package bus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// durable is the configuration of stored events. Only the option refers to the code that stores them, so that a program
// without the option does not link JetStream.
type durable struct {
	open      func(ctx context.Context, c *Conn, source string, config firingConfig) (eventStore, error)
	subscribe func(ctx context.Context, c *Conn, source string, endpoints []*endpoint, config *durable) error

	attempts       int // per event
	first, longest time.Duration
	inFlight       int
}

// Defaults of stored events, unless an option overrides them.
const (
	defaultAttempts     = 10
	defaultFirstRetry   = time.Second
	defaultLongestRetry = 10 * time.Minute
	defaultInFlight     = 64

	defaultKeepAge   = 7 * 24 * time.Hour
	defaultKeepBytes = 256 << 20

	maxInFlight   = 1000
	maxUnfinished = 10_000 // MaxAckPending of JetStream: unacknowledged deliveries of one event to all instances of a service
)

func newDurable() *durable {
	return &durable{attempts: defaultAttempts, first: defaultFirstRetry, longest: defaultLongestRetry, inFlight: defaultInFlight}
}

// check returns an error if the options of Subscribe are invalid.
func (d *durable) check() error {
	switch {
	case d.subscribe == nil:
		return errors.New("bus.MaxDeliver, bus.Backoff and bus.MaxInFlight are for stored events: add bus.Durable()")
	case d.attempts < 1:
		return fmt.Errorf("bus.MaxDeliver(%d): set at least one attempt", d.attempts)
	case d.first <= 0 || d.longest < d.first:
		return fmt.Errorf("bus.Backoff(%s, %s): set a first wait above zero, and a longest wait that is not shorter than the first", d.first, d.longest)
	case d.inFlight < 1 || d.inFlight > maxInFlight:
		return fmt.Errorf("bus.MaxInFlight(%d): choose 1 to %d", d.inFlight, maxInFlight)
	default:
		return nil
	}
}

// DurableOption may be used in [Subscribe] and in [Conn.NewPublisher].
type DurableOption interface {
	SubscribeOption
	PublishOption
}

type durableOption struct{}

func (durableOption) applyToSubscription(c *serviceConfig) { c.stored().subscribe = subscribeStored }

func (durableOption) applyToFiring(c *firingConfig) {
	c.durable = newDurable()
	c.durable.open = openEventStream
}

// stored returns the configuration of stored events, and creates it if there is none.
func (s *serviceConfig) stored() *durable {
	if s.durable == nil {
		s.durable = newDurable()
	}
	return s.durable
}

// Durable stores events in a JetStream stream of their publisher, and delivers them at least once to each service that
// subscribes with this option. Both sides need the option, and the broker needs JetStream. A service that subscribes
// with it gets no events of a publisher without it, and no events of [Conn.Publish], as they are not stored.
//
// For a publisher ([Conn.NewPublisher], a generated publisher): Publish stores the event, and returns when JetStream
// has confirmed that. An error means that the event is not stored or, with executed unknown, that it may be. Services
// that subscribe without the option still get the event at most once. See [WithEventID], [MaxBytes] and [Replicas].
//
// For [Subscribe]: every event that is published after the first Subscribe of the service to it is kept for the
// service, even while no instance of it is there, as long as the publisher keeps events. The instances of the service
// share the events. An event is done when the handler returns nil. After an error it is delivered again, with growing
// waits, see [MaxDeliver]. After an error of the handler's own with status 400 to 499 (but not 408, 425 and 429), or
// after the last attempt, it becomes a dead letter: it is logged, and stored in the stream <plane>_PARKED_<publisher>
// for 30 days. A handler has 20 s, unless [TimeBudget] sets another time. If its instance dies, the event goes to
// another one after 30 s. So a handler may get an event twice, and events in any order: the MsgID of [CallerOf] is the
// same each time. The actor of the chain is not stored.
//
// Default: events are not stored.
func Durable() DurableOption { return durableOption{} }

// MaxDeliver sets how often a stored event is delivered, including the first time. Then it becomes a dead letter.
// Subscribe returns an error if attempts is below 1. Default: 10.
func MaxDeliver(attempts int) SubscribeOption {
	return subscribeOption(func(c *serviceConfig) { c.stored().attempts = attempts })
}

// Backoff sets the wait before a stored event is delivered again: first after the first attempt, four times as long
// after each further one, and longest at most. Subscribe returns an error unless 0 < first <= longest. Default: 1 s and
// 10 minutes, so that 10 attempts take 45 minutes.
func Backoff(first, longest time.Duration) SubscribeOption {
	return subscribeOption(func(c *serviceConfig) {
		stored := c.stored()
		stored.first, stored.longest = first, longest
	})
}

// MaxInFlight sets how many stored events of each kind (each method of [Subscribe]) one instance handles at once, 1 to
// 1000. One at a time keeps the order of the events of a kind at a single instance, as long as nothing fails. All kinds
// together use at most three quarters of [WithMaxHandlers], so that capacity for calls remains. Default: 64.
func MaxInFlight(events int) SubscribeOption {
	return subscribeOption(func(c *serviceConfig) { c.stored().inFlight = events })
}

// storeLimits are the limits of a stream; zero stands for the default.
type storeLimits struct {
	age      time.Duration
	bytes    int64
	replicas int
}

type publishOption func(*firingConfig)

func (o publishOption) applyToFiring(c *firingConfig) { o(c) }

// MaxAge limits how long a publisher stores events that some service has not handled yet; older ones are dropped. An
// event is deleted as soon as all services have handled it, or at once if no service subscribes to it. An existing
// stream is changed accordingly. A service learns a changed age when an instance of it starts. Its unhandled events are
// dropped if no instance was there for the age that it knows, and for an hour at least. 0 stands for the default.
// Default: 7 days, or the age of the existing stream.
func MaxAge(age time.Duration) PublishOption {
	return publishOption(func(c *firingConfig) { c.limits.age, c.limited = age, true })
}

// MaxBytes limits how many bytes of events a publisher stores that some service has not handled yet. At the limit,
// publishing fails (507). An existing stream is changed accordingly. 0 stands for the default. Default: 256 MiB, or the
// limit of the existing stream.
func MaxBytes(bytes int64) PublishOption {
	return publishOption(func(c *firingConfig) { c.limits.bytes, c.limited = bytes, true })
}

// Replicas sets on how many servers of a cluster events and dead letters are stored, 1 to 5; three survive the loss of
// one. Existing streams are changed accordingly. Default: 1, or the number of the existing stream.
func Replicas(servers int) PublishOption {
	return publishOption(func(c *firingConfig) { c.limits.replicas, c.limited = servers, true })
}

type eventIDKey struct{}

// WithEventID returns a context with an id, such as "order-7", for the one stored event that is published with it. To
// publish the event again, after an error that leaves open whether it was stored, use the same id: within two minutes,
// or the age of [MaxAge] if that is less, an event under the same path with an id that was used is dropped, whatever
// its arguments are, without an error. So do not publish several events with one such context. The id only affects
// storing: services that subscribe without [Durable] get the event again. Default: each Publish is a separate event.
func WithEventID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, eventIDKey{}, id)
}
