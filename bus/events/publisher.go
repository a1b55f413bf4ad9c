package events

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
)

// Publisher publishes the events of one host over a connection. Generated publishers (see bus/cmd/apigen, -events)
// use it. It is safe for concurrent use.
type Publisher struct {
	conn    *bus.Conn // nil for none
	sources *sources  // of conn
	host    string
	store   store // nil: events are not stored

	doc       string                      // of the interface
	described map[eventName]*handledEvent // events of the interface, as for a subscriber; nil if it is not known
	access    feature.Endpoint            // whose rule says which callers see the events, and may publish them by hand
}

// PublishOption configures the events of a publisher, in [NewPublisher]: [Durable] and the options below, or
// bus.RequireClaims. Others cannot implement it.
type PublishOption interface{ feature.PublishOption }

// publishConfig holds what the options of NewPublisher set.
type publishConfig struct {
	handlers feature.Handlers // of its events: the claims
	durable  *storing         // nil: events are not stored
	limits   durable.Limits
	limited  bool         // an option has set limits
	events   reflect.Type // the interface; nil if it is not known
}

// publishOption is an option of this package.
type publishOption func(*publishConfig)

// ApplyToPublisher implements [PublishOption].
func (publishOption) ApplyToPublisher(feature.Handlers) {}

func (o publishOption) applyTo(c *publishConfig) { o(c) }

// newPublishConfig returns what options set.
func newPublishConfig(options []PublishOption) (*publishConfig, error) {
	config := &publishConfig{handlers: feature.Bus.Handlers(subject.EventPort)}
	for i, option := range options {
		if option == nil {
			return nil, feature.NoOption(i)
		}
		option.ApplyToPublisher(config.handlers)
		if own, is := option.(interface{ applyTo(config *publishConfig) }); is {
			own.applyTo(config)
		}
	}
	return config, nil
}

// Of names the interface of the events of a publisher, which generated publishers do: Of[ordersapi.Events](). The
// events are then described in documents, and can be published by hand. The names of their arguments come from the
// signature table that apigen writes. Default: only the paths of events are known.
func Of[T any]() PublishOption {
	return publishOption(func(c *publishConfig) { c.events = reflect.TypeFor[T]() })
}

// store stores events for services that subscribe with [Durable].
type store interface {
	// Store stores an event, and returns when that is confirmed.
	Store(ctx context.Context, event durable.Event) error
	// Check returns the error of Store for an event that can never be stored.
	Check(event durable.Event) error
	// Cancel drops the event of a path and an id that has not come yet.
	Cancel(ctx context.Context, path, id string) error
	// Timetable has an event stored again and again.
	Timetable(ctx context.Context, timing durable.Timing) (*durable.Timetable, error)
	// Permissions returns the permissions that the user of the connection needs for storing.
	Permissions() (publish, subscribe []natsconn.Permission)
}

// NewPublisher prepares to publish the events of a host, usually that of the connection. With [Durable] they are also
// stored: NewPublisher creates the stream if there is none, and returns an error if the broker has no JetStream. It
// takes at most 5 s. Without Durable conn may be nil, for [OpenAPIOf] and bustest.LockEvents. A generated NewPublisher
// knows the host.
func NewPublisher(conn *bus.Conn, host string, options ...PublishOption) (*Publisher, error) {
	config, err := newPublishConfig(options)
	if err != nil {
		return nil, feature.Bus.Error(status.NotRun(http.StatusBadRequest, nil, "events of %s: %s", host, err))
	}
	if err := validSource(host); err != nil {
		return nil, feature.Bus.Unsent(err)
	}
	publisher := &Publisher{conn: conn, host: host}
	if conn != nil {
		publisher.sources = sourcesOf(conn)
		config.handlers.SetStrict(publisher.sources.IsStrict())
	}
	if err := publisher.describe(config); err != nil {
		return nil, feature.Bus.Error(status.NotRun(http.StatusBadRequest, err, "events of %s: %s", host, err))
	}
	if config.durable == nil && config.limited {
		return nil, feature.Bus.Error(status.NotRun(http.StatusBadRequest, nil,
			"events of %s: events.MaxAge, events.MaxBytes and events.Replicas are for stored events: add events.Durable()",
			host))
	}
	switch {
	case conn == nil && config.durable == nil:
		return publisher, nil
	case conn == nil:
		return nil, feature.Bus.NoConnection("https://" + host)
	}
	if err := publisher.open(config); err != nil {
		return nil, err
	}
	return publisher, nil
}

// open makes a publisher known to its connection.
func (p *Publisher) open(config *publishConfig) error {
	// Permissions may be called before the first event is published
	p.sources.NoteCallee(subject.Address{Host: p.host, Port: subject.EventPort})
	p.sources.NoteRule(p.access)
	ctx, cancel := context.WithTimeout(p.sources.Base(), natsconn.DefaultTimeout)
	defer cancel()
	if config.durable != nil {
		opened, err := config.durable.open(ctx, p.sources, p.host, config.limits)
		if err != nil {
			return err
		}
		p.store = opened
	}
	for name := range p.described {
		p.sources.publish(p, name.path, p.declaredKey(name.path))
	}
	p.sources.listPublisher()
	return nil
}

// addressOf returns the address of an event.
func addressOf(host, path string) string {
	return "https://" + host + ":" + strconv.Itoa(subject.EventPort) + path
}

// subjectOf returns the subject of an event, by its path.
func subjectOf(plane, publisher, path string) (string, error) {
	return subject.Address{Port: subject.EventPort, Host: publisher, Method: http.MethodPost, Path: path}.Subject(plane)
}

// validSource returns an error if a host cannot publish events.
func validSource(host string) error {
	if host == subject.HostAll {
		return status.NotRun(http.StatusBadRequest, nil, "the host %q has no events: name the service that publishes them",
			host)
	}
	return subject.CheckHost(host)
}

// validPath returns an error for a path that names no event.
func validPath(host, path string) error {
	if strings.Trim(path, "/") != "" {
		return nil
	}
	return status.NotRun(http.StatusBadRequest, nil, "the event %q of %s has no name: write a path like /on-ordered", path,
		host)
}

// describe describes the events of the interface of a publisher, if it is known, and compiles the claims.
func (p *Publisher) describe(config *publishConfig) (err error) {
	if p.access, err = config.handlers.Rule(); err != nil || config.events == nil {
		return err
	}
	service, err := reflectapi.DescribeInterface(config.events)
	if err != nil {
		return fmt.Errorf("events.Of: %w", err)
	}
	described, err := mapEvents(p.host, service, config.handlers, config.durable != nil, nil)
	if err == nil {
		err = feature.Bus.Check(p.host, endpointsOf(described))
	}
	if err != nil {
		return fmt.Errorf("events.Of: %v is no interface of events: %w", config.events, err)
	}
	p.doc, p.described = service.Doc, make(map[eventName]*handledEvent)
	for _, each := range described {
		p.described[eventName{p.host, each.Routed().Path}] = each
	}
	return nil
}

// declaredKey returns the argument that orders an event, as its interface declares it, "" for none.
func (p *Publisher) declaredKey(path string) string {
	if event := p.described[eventName{p.host, path}]; event != nil {
		return event.key()
	}
	return ""
}

type idKey struct{}

// WithID returns a context with an id, such as "order-7", for the one stored event that is published with it. To
// publish the event again, after an error that leaves open whether it was stored, use the same id: within two minutes,
// or the age of [MaxAge] if that is less, an event under the same path with an id that was used is dropped, whatever
// its arguments are, without an error. So do not publish several events with one such context. The id only affects
// storing: services that subscribe without [Durable] get the event again. More than 16 KiB, with the path, are refused
// with status 413. Default: each Publish is a separate event.
func WithID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, idKey{}, id)
}

type laterKey struct{}

// At returns a context with which stored events are published later: JetStream keeps the event and stores it at a time,
// to some 250 ms, whether the publisher is there or not. Before that no subscriber gets it and it is not in the log;
// Stored of [Delivery] is the time at which it came. Those that subscribe without [Durable] never get it. An event
// whose time has passed is published at once. With [WithID] another event with that id is dropped within two minutes,
// and [Event.Cancel] drops this one.
//
// The time must be within [MaxAge], else Publish returns an error with status 400, as it does for a publisher without
// Durable. A log that is full drops its oldest events, and so may drop one that has not come: see [MaxBytes]. The
// broker must be nats-server 2.12 or later; else the status is 501. Default: events are published at once.
func At(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, laterKey{}, at)
}

// After is [At] with the time after a duration. The duration begins when After is called.
func After(ctx context.Context, wait time.Duration) context.Context {
	return At(ctx, time.Now().Add(wait))
}

// laterOf returns the time of At, zero for none.
func laterOf(ctx context.Context) time.Time {
	at, _ := ctx.Value(laterKey{}).(time.Time)
	return at
}
