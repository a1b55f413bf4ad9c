package bus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// durable is the configuration of stored events. The code that stores them is reached only through the option, so that a
// program that does not use it does not link JetStream.
type durable struct {
	open      func(ctx context.Context, c *Conn, source string, config firingConfig) (eventStore, error)
	subscribe func(ctx context.Context, c *Conn, source string, endpoints []*endpoint, config *durable) error

	attempts       int // of one event
	first, longest time.Duration
	inFlight       int
}

// Defaults of stored events, where no option says otherwise.
const (
	defaultAttempts     = 10
	defaultFirstRetry   = time.Second
	defaultLongestRetry = 10 * time.Minute
	defaultInFlight     = 64

	defaultKeepAge   = 7 * 24 * time.Hour
	defaultKeepBytes = 256 << 20

	maxInFlight   = 1000
	maxUnfinished = 10_000 // what JetStream hands out of one event to all instances of a service, until they are done with some
)

func newDurable() *durable {
	return &durable{attempts: defaultAttempts, first: defaultFirstRetry, longest: defaultLongestRetry, inFlight: defaultInFlight}
}

// check says what is wrong with the options of Subscribe.
func (d *durable) check() error {
	switch {
	case d.subscribe == nil:
		return errors.New("bus.Redeliver and bus.InFlight are for stored events: add bus.Durable()")
	case d.attempts < 1 || d.first <= 0 || d.longest < d.first:
		return fmt.Errorf("bus.Redeliver(%d, %s, %s): set at least one attempt, a first wait above zero, and a longest wait that is not shorter than the first", d.attempts, d.first, d.longest)
	case d.inFlight < 1 || d.inFlight > maxInFlight:
		return fmt.Errorf("bus.InFlight(%d): choose 1 to %d", d.inFlight, maxInFlight)
	default:
		return nil
	}
}

// durableOption may be used on both sides.
type durableOption struct{}

func (durableOption) applyToService(c *serviceConfig) { c.stored().subscribe = subscribeStored }

func (durableOption) applyToFiring(c *firingConfig) {
	c.durable = newDurable()
	c.durable.open = openEventStream
}

// stored returns the configuration of stored events, and makes it if there is none.
func (s *serviceConfig) stored() *durable {
	if s.durable == nil {
		s.durable = newDurable()
	}
	return s.durable
}

// Durable stores events in a JetStream stream of their source, and delivers them at least once to each service that
// subscribes with this option, too. Both sides need it, and the broker JetStream: a service that subscribes with it gets
// no event of a source without it, and none of [Fire], as nobody has stored them.
//
// For a source ([NewEvents], a generated source): firing stores the event, and returns when JetStream has confirmed
// that. An error means that it is not stored or, with executed unknown, that it may be. Services that subscribe without
// the option still get it at most once. See [EventID], [Keep] and [Replicas].
//
// For [Subscribe]: everything that is fired after the first Subscribe of the service to an event is kept for it, even
// while no instance of it is there, as long as the source keeps events. The instances of the service share the events. An
// event is done when the handler returns nil. After an error it is delivered again, with growing waits, see [Redeliver].
// After an error of the handler's own of status 400 to 499 (but not 408, 425 and 429), or after the last attempt, it is
// parked: logged, and stored in the stream <plane>_PARKED_<source> for 30 days. A handler has 20 s, or what [TimeBudget]
// says; if its instance dies, the event goes to another one after 30 s. So a handler may see an event twice, and events in
// any order: the MsgID that [CallerOf] returns is the same each time. The actor of the chain is not stored.
//
// Default: events are not stored.
func Durable() interface {
	ServeOption
	FireOption
} {
	return durableOption{}
}

// Redeliver sets how often a stored event is tried: attempts in all, with a wait of first after the first one, four
// times as long after each further one, and longest at most. Default: 10 attempts, 1 s, 10 minutes, which is 45 minutes
// in all.
func Redeliver(attempts int, first, longest time.Duration) ServeOption {
	return serveOption(func(c *serviceConfig) {
		stored := c.stored()
		stored.attempts, stored.first, stored.longest = attempts, first, longest
	})
}

// InFlight sets how many stored events of each kind, which is each method of [Subscribe], one instance handles at once, 1 to
// 1000. One at a time keeps the order of the events of a kind at a single instance, as long as nothing fails. All kinds
// together have at most three quarters of [WithHandlerLimit], so that there is room for calls, too. Default: 64.
func InFlight(events int) ServeOption {
	return serveOption(func(c *serviceConfig) { c.stored().inFlight = events })
}

// storeLimits are those of a stream; zero is the default.
type storeLimits struct {
	age      time.Duration
	bytes    int64
	replicas int
}

type fireOption func(*firingConfig)

func (o fireOption) applyToFiring(c *firingConfig) { o(c) }

// Keep limits how long, and how many bytes in all, a source stores events that some service has not handled yet. An
// event is deleted as soon as all have handled it, or at once if nobody subscribes to it. Older events are dropped;
// when the bytes are used up, firing fails (507). An existing stream is changed accordingly; a service learns of another
// age when an instance of it starts, and what it has not handled is forgotten when none was there for as long as the age
// it knows, and for an hour at least. Default: 7 days, 256 MiB, or what the stream has.
func Keep(age time.Duration, bytes int64) FireOption {
	return fireOption(func(c *firingConfig) { c.limits.age, c.limits.bytes, c.limited = age, bytes, true })
}

// Replicas sets on how many servers of a cluster events are stored, also those that are parked, 1 to 5; three survive the loss
// of one. Existing streams are changed accordingly. Default: 1, or what the stream has.
func Replicas(servers int) FireOption {
	return fireOption(func(c *firingConfig) { c.limits.replicas, c.limited = servers, true })
}

type eventIDKey struct{}

// EventID returns a context with an id for the one stored event that is fired with it: "order-7". To fire the event
// again, after an error that leaves open whether it was stored, use the same id: within two minutes, or the age of [Keep]
// if that is less, what is fired under the same path with an id that was used is dropped, whatever its arguments are, and
// that is no error. So do not fire several events with one such context. Only storing is affected: services that
// subscribe without [Durable] get what is fired again. Default: each firing is an event of its own.
func EventID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, eventIDKey{}, id)
}
