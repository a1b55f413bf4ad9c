package bus

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
)

// eventControl is the service of an instance that publishes or subscribes to events, on port 888 of its host.
type eventControl struct{}

// Events returns the events that the instance publishes, and those that it subscribes to.
func (eventControl) Events(ctx context.Context) (publishes []publishedEvent, subscribes []subscribedEvent) {
	conn := servingConn(ctx)
	return conn.events.publishes(), conn.subscribesTo()
}

// Subscribed tells a publisher that the caller subscribes to some of its events, which have to be stored, and returns
// the instance and what it publishes.
func (eventControl) Subscribed(ctx context.Context, publisher string, events []string) (id string, publishes []publishedEvent) {
	caller, _ := CallerOf(ctx)
	conn := servingConn(ctx)
	for _, each := range conn.events.wanted(publisher, caller.Host, events) {
		conn.log(conn.limitedLine(zerolog.WarnLevel, "a subscriber wants events to be stored").Str("publisher", publisher), each.String())
	}
	return conn.id, slices.DeleteFunc(conn.events.publishes(), func(each publishedEvent) bool { return each.Publisher != publisher })
}

// publishedEvent is an event that an instance publishes.
type publishedEvent struct {
	Publisher string `json:"publisher"` // the host: "orders.example"
	Event     string `json:"event"`     // "on-ordered"
	Durable   bool   `json:"durable"`   // it is stored
	Key       string `json:"key"`       // the argument that orders it, "" for none
}

// subscribedEvent is an event that an instance subscribes to.
type subscribedEvent struct {
	Publisher string `json:"publisher"`
	Event     string `json:"event"`
	Durable   bool   `json:"durable"` // stored events come, and no others
	Queue     string `json:"queue"`   // the host whose instances share the events, "" if each instance gets all
}

// The endpoints of port 888 for events are planned once.
//
//nolint:gochecknoglobals // they do not change
var (
	eventListEndpoints = sync.OnceValues(planEventList)
	publishEndpoints   = sync.OnceValues(planPublish)
)

func planEventList() ([]*endpoint, error) {
	endpoints, _, err := plan(nil, eventControl{}, newServiceConfig([]ServeOption{
		Port(subject.ControlPort), Undocumented(),
		ParamNames("Events", "", "publishes, subscribes"), Method("Events", HTTPMethod(http.MethodGet), NoQueue()),
		ParamNames("Subscribed", "publisher, events", "id, publishes"), Method("Subscribed", HTTPMethod(http.MethodPost)),
	}))
	if err != nil {
		return nil, err
	}
	document, err := controlHandler(http.MethodGet, asyncAPIPath)
	if err != nil {
		return nil, err
	}
	document.run = runWeb(document, serveAsyncAPI)
	return controlled(append(endpoints, document)), nil
}

func planPublish() ([]*endpoint, error) {
	publish, err := controlHandler(http.MethodPost, publishPath+"{event+}")
	if err != nil {
		return nil, err
	}
	publish.run = publishByHand
	describe, err := controlHandler(http.MethodGet, publishPath+"{event+}")
	if err != nil {
		return nil, err
	}
	describe.run = describePublication
	return controlled([]*endpoint{publish, describe}), nil
}

// listEvents serves the list of events and their document, and reports whether it did not do so before. The caller
// holds the lock of registrations. Events do not need that, so an error is logged, and the next publisher or
// subscription tries again.
func (c *Conn) listEvents(ctx context.Context) (added bool) {
	return c.addControl(ctx, &c.registry.listing, eventListEndpoints, "the events of this instance are not listed")
}

// addControl serves endpoints of port 888, unless they are served, and reports whether it has. A failure is logged.
func (c *Conn) addControl(ctx context.Context, served *bool, plan func() ([]*endpoint, error), failure string) (added bool) {
	if *served || c.isClosing() {
		return false
	}
	endpoints, err := plan()
	if err == nil {
		err = c.install(ctx, c.server.Router, endpoints, c.subscriptionsOf(endpoints), nil)
	}
	if err != nil {
		c.log(c.logger.Warn().Err(err), failure)
		return false
	}
	*served = true
	return true
}

// listPublisher serves what port 888 has for a publisher.
func (c *Conn) listPublisher(ctx context.Context) {
	c.registry.registering.Lock()
	defer c.registry.registering.Unlock()
	listed := c.listEvents(ctx)
	publishes := c.addControl(ctx, &c.registry.publishing, publishEndpoints, "the events of this instance cannot be published by hand")
	if listed || publishes {
		c.announce(ctx, server.HelloPath, nil)
	}
}

// eventName identifies an event.
type eventName struct{ host, path string }

// publish notes that a publisher has an event, with the argument that orders it, "" for none. The latest publisher of
// an event counts, but not in place of one that stores it.
func (s *eventSources) publish(of *Publisher, path, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.published == nil {
		s.published = make(map[eventName]publication)
	}
	name := eventName{of.host, path}
	if known := s.published[name].publisher; known == nil || known.store == nil || of.store != nil {
		s.published[name] = publication{of, key}
	}
}

// publication is how an event is published.
type publication struct {
	publisher *Publisher
	key       string
}

// publicationOf returns how an event is published, the zero value if it is not.
func (s *eventSources) publicationOf(host, event string) publication {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.published[eventName{host, "/" + event}]
}

// publishes returns the events that the connection publishes, sorted.
func (s *eventSources) publishes() []publishedEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]publishedEvent, 0, len(s.published))
	for name, by := range s.published {
		all = append(all, publishedEvent{name.host, strings.TrimPrefix(name.path, "/"), by.publisher.store != nil, by.key})
	}
	slices.SortFunc(all, func(a, b publishedEvent) int {
		return cmp.Or(cmp.Compare(a.Publisher, b.Publisher), cmp.Compare(a.Event, b.Event))
	})
	return all
}

// subscribesTo returns the events that the connection subscribes to, sorted.
func (c *Conn) subscribesTo() []subscribedEvent {
	all := []subscribedEvent{}
	for _, e := range c.registry.all() {
		if e.source != "" {
			all = append(all, subscribedEvent{e.source, strings.TrimPrefix(e.Path, "/"), e.stored, e.brokerQueue(c)})
		}
	}
	slices.SortStableFunc(all, func(a, b subscribedEvent) int { return cmp.Compare(a.Publisher, b.Publisher) })
	return all
}

// describe describes the events of the interface of a publisher, if it is known, and compiles the claims.
func (p *Publisher) describe(config *publishConfig) error {
	p.access = &endpoint{endpointConfig: config.described.endpoints}
	if err := cmp.Or(config.described.endpoints.err, p.access.compileClaims()); err != nil {
		return err
	}
	if config.events == nil {
		return nil
	}
	service, err := reflectapi.DescribeInterface(config.events)
	if err != nil {
		return fmt.Errorf("bus.EventsOf: %w", err)
	}
	endpoints, err := mapEvents(p.host, service, &config.described, nil)
	if err == nil {
		err = validEndpoints(defaultPlane, p.host, endpoints)
	}
	if err != nil {
		return fmt.Errorf("bus.EventsOf: %v is no interface of events: %w", config.events, err)
	}
	p.doc, p.described = service.Doc, make(map[eventName]*endpoint)
	for _, e := range endpoints {
		e.stored = config.durable != nil
		p.described[eventName{p.host, e.Path}] = e
	}
	return nil
}

// declaredKey returns the argument that orders an event, as its interface declares it, "" for none.
func (p *Publisher) declaredKey(path string) string {
	if e := p.described[eventName{p.host, path}]; e != nil {
		return e.mapped.Method.Declared.Key
	}
	return ""
}

// describe notes all events of the interface of a publisher.
func (s *eventSources) describe(of *Publisher) {
	for name := range of.described {
		s.publish(of, name.path, of.declaredKey(name.path))
	}
}
