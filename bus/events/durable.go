package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/subject"
)

// storing is the configuration of stored events. Only the option refers to the code that stores them, so that a program
// without the option does not link it.
type storing struct {
	open      func(ctx context.Context, s *sources, source string, limits durable.Limits) (store, error)
	subscribe func(ctx context.Context, s *sources, source string, handled []*handledEvent, options durable.Options) error

	durable.Options
	fromTime bool
}

// Defaults of stored events, unless an option overrides them.
const (
	defaultAttempts     = 10
	defaultFirstRetry   = time.Second
	defaultLongestRetry = 10 * time.Minute
	defaultInFlight     = 64

	maxInFlight = 1000
)

func newStoring() *storing {
	return &storing{Options: durable.Options{
		MaxDeliver: defaultAttempts, FirstRetry: defaultFirstRetry, LongestRetry: defaultLongestRetry,
		MaxInFlight: defaultInFlight,
	}}
}

// check returns an error if the options of Subscribe are invalid.
func (d *storing) check() error {
	switch {
	case d.subscribe == nil:
		return errors.New("events.MaxDeliver, events.Backoff, events.MaxInFlight, events.FromBeginning and events.FromTime " +
			"are for stored events: add events.Durable()")
	case d.MaxDeliver < 1:
		return fmt.Errorf("events.MaxDeliver(%d): set at least one attempt", d.MaxDeliver)
	case d.FirstRetry <= 0 || d.LongestRetry < d.FirstRetry:
		return fmt.Errorf("events.Backoff(%s, %s): set a first wait above zero, and a longest wait that is not shorter "+
			"than the first", d.FirstRetry, d.LongestRetry)
	case d.MaxInFlight < 1 || d.MaxInFlight > maxInFlight:
		return fmt.Errorf("events.MaxInFlight(%d): choose 1 to %d", d.MaxInFlight, maxInFlight)
	case d.fromTime && d.Start.Time.IsZero():
		return errors.New("events.FromTime: name a time, or use events.FromBeginning")
	case time.Until(d.Start.Time) > 0:
		return fmt.Errorf("events.FromTime(%s): the time has not come yet; without the option the service begins now",
			d.Start.Time.Format(time.RFC3339))
	default:
		return nil
	}
}

// DurableOption may be used in [Subscribe] and in [NewPublisher].
type DurableOption interface {
	SubscribeOption
	PublishOption
}

type durableOption struct{}

// ApplyToHandlers implements [SubscribeOption].
func (durableOption) ApplyToHandlers(feature.Handlers) {}

// ApplyToPublisher implements [PublishOption].
func (durableOption) ApplyToPublisher(feature.Handlers) {}

func (durableOption) configure(c *subscribeConfig) { c.stored().subscribe = subscribeDurable }

func (durableOption) applyTo(c *publishConfig) {
	c.durable = newStoring()
	c.durable.open = openStream
}

// stored returns the configuration of stored events, and creates it if there is none.
func (s *subscribeConfig) stored() *storing {
	if s.durable == nil {
		s.durable = newStoring()
	}
	return s.durable
}

// Durable stores events in a log of their publisher, a JetStream stream, and delivers them at least once to each
// service that subscribes with this option. Both sides need the option, and the broker needs JetStream. A service that
// subscribes with it gets no events of a publisher without it, and no events of [Publish], as they are not stored.
//
// For a publisher ([NewPublisher], a generated publisher): Publish stores the event, and returns when JetStream
// has confirmed that. An error means that the event is not stored or, with executed unknown, that it may be. Services
// that subscribe without the option still get the event at most once. No service can stop a publisher: the log drops
// the oldest events, see [MaxAge] and [MaxBytes]. Those that are about to lose events by that, or have, are logged and
// counted. See also [WithID] and [Replicas].
//
// For [Subscribe], which refuses it beside [bus.NoQueue] and [bus.RequireClaims]: the service gets every event that is
// published after its first Subscribe to it (see [FromBeginning] and [FromTime]), also while no instance of it is
// there, as long as the log has the event. The instances of the service share the events. An event is done when the
// handler returns nil. After an error it is delivered again, with growing waits, see [MaxDeliver]. After an error of
// the handler's own with status 400 to 499 (but not 408, 425 and 429), or after the last attempt, it becomes a dead
// letter: it is logged, and stored in the stream <plane>_DEADLETTERS_<publisher> for 30 days. A handler has 20 s,
// unless [bus.TimeBudget] sets another time. If its instance dies, the event goes to another one after 30 s. So a
// handler may get an event twice: the ID of [DeliveryOf] is the same each time, and package interceptors has Once.
// Events come in any order, unless the interface declares a key of the event (//busline:key): then those of equal keys
// are handled in the order in which they were stored, one at a time, and one that fails holds up those behind it until
// it is handled or a dead letter. The actor of the chain is not stored.
//
// Default: events are not stored.
func Durable() DurableOption { return durableOption{} }

// MaxDeliver sets how often a stored event is delivered, including the first time. Then it becomes a dead letter.
// Subscribe returns an error if attempts is below 1. Default: 10.
func MaxDeliver(attempts int) SubscribeOption {
	return subscribeOption(func(c *subscribeConfig) { c.stored().MaxDeliver = attempts })
}

// Backoff sets the wait before a stored event is delivered again: first after the first attempt, four times as long
// after each further one, and longest at most. Subscribe returns an error unless 0 < first <= longest. Default: 1 s and
// 10 minutes, so that 10 attempts take 45 minutes.
func Backoff(first, longest time.Duration) SubscribeOption {
	return subscribeOption(func(c *subscribeConfig) {
		stored := c.stored()
		stored.FirstRetry, stored.LongestRetry = first, longest
	})
}

// MaxInFlight sets how many stored events of each kind (each method of [Subscribe]) one instance handles at once, 1 to
// 1000. Events with a key are not limited by it: all instances together handle at most 32 of a kind. All kinds together
// use at most three quarters of bus.WithMaxHandlers, so that capacity for calls remains. Default: 64.
func MaxInFlight(events int) SubscribeOption {
	return subscribeOption(func(c *subscribeConfig) { c.stored().MaxInFlight = events })
}

// FromBeginning has a service that is new to stored events begin with the oldest that the publisher still has. It has
// no effect once the service has subscribed: `busline events replay` sets it back. Default: the events that are
// published from the first Subscribe on.
func FromBeginning() SubscribeOption {
	return subscribeOption(func(c *subscribeConfig) { c.stored().Start = durable.Start{Beginning: true} })
}

// FromTime is [FromBeginning] with the first event that was stored at a time or later. A warning is logged if events of
// that time are not there any more. Subscribe returns an error if the time is the zero value, or has not come yet.
// Default: as without it.
func FromTime(begin time.Time) SubscribeOption {
	return subscribeOption(func(c *subscribeConfig) {
		stored := c.stored()
		stored.Start, stored.fromTime = durable.Start{Time: begin}, true
	})
}

// MaxAge limits how long the log of a publisher has events, whichever services have handled them; older ones are
// dropped. An existing log is changed accordingly. 0 stands for the default. Default: 7 days, or the age of the
// existing log.
func MaxAge(age time.Duration) PublishOption {
	return publishOption(func(c *publishConfig) { c.limits.Age, c.limited = age, true })
}

// MaxBytes limits how many bytes of events the log of a publisher has, whichever services have handled them. Beyond it
// the oldest are dropped. JetStream sets that much aside, and NewPublisher returns an error (507) if it cannot. An
// existing log is changed accordingly. 0 stands for the default. Default: 1 GiB, or the limit of the existing log.
func MaxBytes(bytes int64) PublishOption {
	return publishOption(func(c *publishConfig) { c.limits.Bytes, c.limited = bytes, true })
}

// Replicas sets on how many servers of a cluster events and dead letters are stored, 1 to 5; three survive the loss of
// one. Existing streams are changed accordingly. Default: 1, or the number of the existing stream.
func Replicas(servers int) PublishOption {
	return publishOption(func(c *publishConfig) { c.limits.Replicas, c.limited = servers, true })
}

// openStream returns the stream of a source, and creates it if there is none.
func openStream(ctx context.Context, s *sources, source string, limits durable.Limits) (store, error) {
	stream, err := durable.Open(ctx, s.durableConfig(), source, limits)
	if err != nil {
		return nil, feature.Bus.Error(err)
	}
	s.stored(source, stream, func() eventWatch { return stream.Watch() })
	return stream, nil
}

// subscribeDurable creates the stream, if there is none, and a consumer of this service for each event, and starts to
// fetch events. An instance of an older version, which does not know an event, therefore takes nothing from those that
// do.
func subscribeDurable(ctx context.Context, s *sources, source string, handled []*handledEvent,
	options durable.Options) error {
	config := s.durableConfig()
	config.Subscriptions = func() int { return len(s.reading()) }
	config.StartWaiting = func(last *durable.Subscription) { s.startWaiting(last) }
	stream := durable.NewStream(config, source)
	subscriptions := make([]*durable.Subscription, 0, len(handled))
	var inboxes []*natsconn.Subscription
	for _, each := range handled {
		each.Guard(durable.Check)
		to, err := subjectOf(s.conn.Plane(), source, each.Routed().Path)
		if err != nil {
			return err
		}
		subscription := stream.Subscribe(each.Routed(), to, options, each.key() != "")
		subscriptions = append(subscriptions, subscription)
		for _, consumer := range subscription.Consumers() {
			inboxes = append(inboxes, consumer.Inbox())
		}
	}
	// only what may arrive is stored from then on
	err := s.Install(ctx, s.router(source), endpointsOf(handled), inboxes, func() error {
		return feature.Bus.Error(stream.Ensure(ctx, subscriptions))
	})
	if err != nil {
		return err
	}
	s.NoteCallee(subject.Address{Host: source, Port: subject.ControlPort}) // Permissions may be called before the check
	checked := make(map[string]eventReader)
	for i, each := range subscriptions {
		context.AfterFunc(s.Base(), each.Stop)
		s.add(each)
		checked[handled[i].name()] = each
	}
	s.check(source, checked)
	for _, each := range subscriptions {
		each.Fetch()
	}
	return nil
}

// durableConfig returns what streams of the connection work with.
func (s *sources) durableConfig() *durable.Config {
	return &durable.Config{
		Server: s.Server(), API: s.conn.JetStreamPrefix(), Inbox: s.Client().ResponseSubject(), Log: s.Log,
		LimitedLine: s.LimitedLine, IsClosing: s.IsClosing,
		Failure: s.Failure,
	}
}
