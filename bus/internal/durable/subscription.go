package durable

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/subject"
)

// Subscription is what an instance has of one event of one publisher: a consumer, or one for each partition if the
// events are in order. It is safe for concurrent use.
type Subscription struct {
	config      *Config
	store       *Stream // of all events of the publisher
	event       string  // the token that stands for its path, "on-ordered"
	subject     string  // of its address, which must match the address in its text
	options     Options
	served      server.Match    // the endpoint that handles it
	address     subject.Address // of the endpoint
	consumers   []*Consumer
	deadLetters atomic.Int64 // the number of events that became dead letters
	replaces    atomic.Bool  // the consumers have taken the place of others
	isNew       atomic.Bool  // the service has never subscribed before
	came        atomic.Bool  // an event has come
	warned      atomic.Bool  // a warning was logged since the last event
	look        *time.Timer  // looks where the consumers are

	mu         sync.Mutex // protects all below
	junkSince  time.Time
	junk       int // messages since then that are no events
	terminated int // of them all, those that are not dead letters
}

// Messages in a log that are no events: any client may publish to the subjects of the log. In a while only some become
// dead letters.
const (
	junkPause = time.Minute
	maxJunk   = 100
)

// keepsJunk reports whether one more message that is no event becomes a dead letter, else how many did not so far.
func (s *Subscription) keepsJunk() (keeps bool, terminated int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.junkSince) >= junkPause {
		s.junkSince, s.junk = time.Now(), 0
	}
	if s.junk++; s.junk > maxJunk {
		s.terminated++
		return false, s.terminated
	}
	return true, s.terminated
}

// Options are those of a subscription.
type Options struct {
	MaxDeliver               int // attempts per event
	FirstRetry, LongestRetry time.Duration
	MaxInFlight              int // events that are handled at once, unless they are in order
	Start                    Start
}

// Subscribe returns the subscription to the events that an endpoint handles. published is the subject of a call to the
// endpoint. Events that are ordered are handled one at a time in each partition.
func (s *Stream) Subscribe(e *server.Endpoint, published string, options Options, ordered bool) *Subscription {
	route := &e.Routes[0]
	subscription := &Subscription{
		config: s.config, store: s, event: server.Tokens(route.Pattern)[0], options: options,
		subject: published,
		served:  server.Match{Found: server.Found{Endpoint: e, Route: route}},
		address: subject.Address{Port: e.Port, Host: s.Publisher, Method: route.Method, Path: e.Path},
	}
	subscription.look = time.AfterFunc(time.Hour, subscription.lookAgain)
	subscription.look.Stop()
	name := ConsumerName{Service: s.config.Host, Event: subscription.event}
	if !ordered {
		subscription.consumers = []*Consumer{newConsumer(subscription, name)}
		return subscription
	}
	for _, each := range name.otherForm() {
		subscription.consumers = append(subscription.consumers, newConsumer(subscription, each))
	}
	return subscription
}

// Consumers returns the consumers of the subscription.
func (s *Subscription) Consumers() []*Consumer { return s.consumers }

// Stop stops the timers.
func (s *Subscription) Stop() {
	s.look.Stop()
	for _, each := range s.consumers {
		each.stop()
	}
}

// Ensure creates the streams of the publisher, and then all consumers at the same time: there may be many, and the
// broker may be far away.
func (s *Stream) Ensure(ctx context.Context, subscriptions []*Subscription) error {
	stream, err := s.ensureStreams(ctx)
	if err != nil {
		return s.failed(err)
	}
	ended, count := make(chan error), 0
	for _, of := range subscriptions {
		for _, each := range of.consumers {
			count++
			go func() { ended <- each.ensure(ctx, stream) }()
		}
	}
	for range count {
		err = cmp.Or(err, <-ended)
	}
	if err != nil {
		return s.failed(err)
	}
	for _, each := range subscriptions {
		each.begin(ctx, stream)
	}
	return nil
}

// begin logs where a new service begins, deletes the consumers that were replaced, and looks again from time to time.
func (s *Subscription) begin(ctx context.Context, stream jetstream.Stream) {
	s.look.Reset(lookPause)
	log, start := stream.CachedInfo().State, s.options.Start
	switch logger := s.config.Logger.With().Str("publisher", s.store.Publisher).Str("event", s.event).Logger(); {
	case !s.isNew.Load():
	case log.FirstSeq > 1 && start.Time.Before(log.FirstTime) && !start.Time.IsZero():
		s.config.Log(logger.Warn().Time("from", start.Time).Time("first", log.FirstTime),
			"the log does not have the events of the time from events.FromTime any more; the service begins with the first "+
				"that there is")
	case log.Msgs > 0 && start == Start{}:
		s.config.Log(logger.Info().Uint64("stored", log.Msgs),
			"the service is new to stored events, and gets those that are stored from now on; see events.FromBeginning")
	}
	if !s.replaces.Load() {
		return
	}
	for _, old := range s.consumers[0].name.otherForm() {
		if err := stream.DeleteConsumer(ctx, old.String()); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			s.config.Log(s.config.Logger.Warn().Err(err).Str("publisher", s.store.Publisher).Str("consumer", old.String()),
				"a consumer was replaced, and cannot be deleted: delete it, or what it has not handled counts as a backlog")
		}
	}
}

// lookPause is the time between two looks where the consumers are.
const lookPause = time.Minute

// The timer calls lookAgain.
func (s *Subscription) lookAgain() {
	if s.config.IsClosing() {
		return
	}
	s.look.Reset(lookPause)
	ctx, cancel := context.WithTimeout(s.config.Base, natsconn.DefaultTimeout)
	defer cancel()
	stream, err := s.store.find(ctx, s.store.Events())
	for _, each := range s.consumers {
		if err != nil {
			return // fetching reports it
		}
		var consumer jetstream.Consumer
		if consumer, err = stream.Consumer(ctx, each.name.String()); err == nil {
			each.noteState(stream, consumer)
		}
	}
}

// HasCome reports whether an event has come to the service, as far as this instance knows.
func (s *Subscription) HasCome() bool { return s.came.Load() }

// DeadLettered returns the publisher and the event, and how many such events became dead letters here.
func (s *Subscription) DeadLettered() (publisher, event string, count int64) {
	return s.store.Publisher, s.event, s.deadLetters.Load()
}

// Fetch asks JetStream for events, unless some may still come.
func (s *Subscription) Fetch() {
	for _, each := range s.consumers {
		each.fetch()
	}
}

// FetchNow fetches at once, whatever may still come: the broker may have forgotten the last fetch.
func (s *Subscription) FetchNow() {
	s.look.Reset(0)
	for _, each := range s.consumers {
		each.fetchTimer.Reset(0)
	}
}

// StartWaiting starts the waiting events, as long as there is room for them.
func (s *Subscription) StartWaiting() {
	for _, each := range s.consumers {
		each.startWaiting()
	}
}

// NakAll gives the waiting events back to JetStream, for other instances.
func (s *Subscription) NakAll() {
	for _, each := range s.consumers {
		each.nakAll()
	}
}

// Permissions returns the permissions that a service needs for the subscription.
func (s *Subscription) Permissions() (publish, subscribe []natsconn.Permission) {
	events := s.store.Events()
	publish = append(s.config.streamPermissions(events, "the stream of the events of "+s.store.Publisher),
		s.config.streamPermissions(s.store.DeadLetters(), "the stream of dead letters")...)
	for _, each := range s.consumers {
		name := each.name.String()
		publish = append(publish,
			natsconn.Permission{Subject: s.config.API + ".CONSUMER.INFO." + events + "." + name,
				For: "finding its consumer of " + s.event},
			natsconn.Permission{Subject: s.config.API + ".CONSUMER.CREATE." + events + "." + name,
				For: "creating it, unless another service does"},
			natsconn.Permission{Subject: s.config.API + ".CONSUMER.MSG.NEXT." + events + "." + name,
				For: "asking for " + s.event},
			natsconn.Permission{Subject: "$JS.ACK." + events + "." + name + ".>", For: "acknowledging " + s.event},
		)
	}
	return append(publish,
		natsconn.Permission{Subject: s.config.API + ".CONSUMER.INFO." + events + "." +
			s.consumers[0].name.otherForm()[0].String(), For: "finding a consumer that it replaces"},
		natsconn.Permission{Subject: s.store.DeadLetter(s.config.Host, AnyToken, AnyToken),
			For: "storing events that could not be handled"},
	), s.config.inboxPermissions()
}
