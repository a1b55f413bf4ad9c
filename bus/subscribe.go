package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// Subscribe subscribes impl to the events of a publisher, a host such as "orders.example". Each method handles one
// event, and its name begins with On: OnOrdered([ctx context.Context,] arguments…) error. With an interface as type
// parameter, Subscribe[ordersapi.Events](conn, ordersapi.Host, impl), only its methods count; to subscribe to some of
// the events, declare an interface with only these. The subscriptions are live when Subscribe returns; on an error none
// is, and the error names everything that is wrong. It waits for the broker for at most 5 s.
//
// The service of conn gets each event at most once: its instances share them. With [NoQueue] every instance gets each
// event. The error of a handler is logged on this side; the publisher does not learn of it.
//
// A warning names a publisher of which no instance is there a minute later, and events that it does not have.
//
// With [Durable] the service gets the events that the publisher has stored, at least once, including those published
// while it was away; and it gets nothing else. So the publisher needs Durable, too: events of a publisher without it,
// and those of [Conn.Publish], do not reach the service. A warning names the events of which none has ever come, and so
// does /-/ready (see [WithProbes]) until one does.
//
// It takes the options of [Serve], except those for ports, paths and methods. Handlers run concurrently, each on a
// goroutine of its own; impl must allow that. [Conn.Close] loses no event that has arrived.
func Subscribe[T any](conn *Conn, publisher string, impl T, options ...SubscribeOption) error {
	if conn == nil {
		return fmt.Errorf("%T cannot be subscribed to the events of %s without a connection", impl, publisher)
	}
	if err := conn.subscribeEvents(interfaceOf[T](), publisher, impl, newEventsConfig(options)); err != nil {
		return fmt.Errorf("subscribe %T of %s to the events of %s: %w", impl, conn.host, publisher, err)
	}
	return nil
}

func newEventsConfig(options []SubscribeOption) *serviceConfig {
	config := newServiceConfig([]ServeOption{Port(subject.EventPort), Undocumented()})
	apply(config, options, SubscribeOption.applyToSubscription)
	return config
}

func (c *Conn) subscribeEvents(as reflect.Type, source string, impl any, config *serviceConfig) error {
	if err := validSource(source); err != nil {
		return err
	}
	config.strict = c.config.strict
	endpoints, service, err := planEvents(as, source, impl, config)
	if err != nil {
		return err
	}
	if err := c.registerEvents(source, endpoints, config.durable); err != nil {
		return err
	}
	for _, warning := range service.Warnings {
		c.logger.Warn().Str("service", service.Name).Msg(warning)
	}
	return nil
}

// planEvents discovers the methods of impl and makes their endpoints.
func planEvents(as reflect.Type, source string, impl any, config *serviceConfig) ([]*endpoint, *reflectapi.Service, error) {
	service, err := describe(as, impl, config)
	if err != nil {
		return nil, nil, err
	}
	endpoints, err := mapEvents(source, service, config, config.checkEvents())
	return endpoints, service, err
}

// mapEvents makes the endpoints of events that are described. It returns all errors, joined with those of the options.
func mapEvents(source string, service *reflectapi.Service, config *serviceConfig, invalid error) ([]*endpoint, error) {
	routing := config.routing()
	errs := []error{invalid}
	if err := service.Declared.CheckScope(reflectapi.OfEventInterface); err != nil {
		errs = append(errs, fmt.Errorf("the interface %w", err))
	}
	for _, method := range service.Methods {
		if unfit := checkEventMethod(method, routing.Methods[method.Name]); unfit != nil {
			errs = append(errs, fmt.Errorf("method %s: %w", method.Name, unfit))
		}
		routing.Methods[method.Name] = restmap.MethodOptions{HTTPMethod: http.MethodPost}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	mapped, err := restmap.Map(service, routing)
	if err != nil {
		return nil, err
	}
	endpoints := endpointsOf(mapped, service, config)
	for _, e := range endpoints {
		e.source, e.stored = source, config.durable != nil
	}
	return endpoints, nil
}

// checkEvents returns an error for options that do not apply to events.
func (s *serviceConfig) checkEvents() error {
	var errs []error
	all := []endpointConfig{s.endpoints}
	for name := range s.methods {
		all = append(all, s.method(name).endpointConfig)
	}
	for _, each := range all {
		if each.port != subject.EventPort {
			errs = append(errs, fmt.Errorf("events are on port %d: leave bus.Port out", subject.EventPort))
		}
		if s.durable != nil && !each.queue {
			errs = append(errs, errors.New("stored events go to one instance of a service, not to all of them: leave out bus.NoQueue or bus.Durable"))
		}
		if s.durable != nil && each.secured {
			errs = append(errs, errors.New("stored events carry no token whose claims could be checked: leave out bus.RequireClaims or bus.Durable"))
		}
	}
	if s.durable != nil {
		errs = append(errs, s.durable.check())
	}
	return errors.Join(errs...)
}

// checkEventMethod returns an error for a method that cannot handle an event.
func checkEventMethod(method *reflectapi.Method, chosen restmap.MethodOptions) error {
	switch {
	case !isEventName(method.Name):
		return fmt.Errorf("is not an event handler: rename it to On%s, or leave it out with bus.ExcludeMethods(%q)", method.Name, method.Name)
	case method.Kind == reflectapi.Web:
		return errors.New("is a web endpoint: make it a function, such as OnOrdered(ctx context.Context, id int) error")
	case len(method.Results) > 0:
		return fmt.Errorf("returns %s, which no caller receives: return only an error", method.Results[0].Name)
	case !method.ReturnsError:
		return errors.New("returns no error, so it cannot report a failure: add an error as its result")
	case method.Declared.CheckScope(reflectapi.OfEvent) != nil:
		return fmt.Errorf("its interface %w", method.Declared.CheckScope(reflectapi.OfEvent))
	case chosen != restmap.MethodOptions{}:
		return errors.New("has a path or an HTTP method of its own, but its name decides which event it handles: leave out bus.Path, bus.HTTPMethod and bus.RPCAndREST")
	case strings.HasSuffix(method.Name, "REST"):
		return errors.New("ends in REST, but an event is not a REST endpoint: rename it")
	default:
		return nil
	}
}

// isEventName tells OnOrdered from Online.
func isEventName(name string) bool {
	rest, is := strings.CutPrefix(name, "On")
	first, _ := utf8.DecodeRuneInString(rest)
	return is && rest != "" && !unicode.IsLower(first)
}

// registerEvents makes events of a source live, all or none.
func (c *Conn) registerEvents(source string, endpoints []*endpoint, stored *storing) error {
	c.registry.registering.Lock()
	defer c.registry.registering.Unlock()
	if c.isClosing() {
		return ErrClosed
	}
	if err := validEndpoints(c.plane, c.host, endpoints); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.life.base, natsconn.DefaultTimeout)
	defer cancel()
	if stored != nil {
		if err := stored.subscribe(ctx, c, source, endpoints, stored.Options); err != nil {
			return err
		}
		c.registry.add(endpoints)
		if c.listEvents(ctx) {
			c.announce(ctx, server.HelloPath, nil)
		}
		return nil
	}
	if err := c.install(ctx, c.events.of(source), endpoints, c.subscriptionsOf(endpoints), nil); err != nil {
		return err
	}
	c.registry.add(endpoints)
	c.awaitPublisher(source, endpoints)
	c.listEvents(ctx)
	c.announce(ctx, server.HelloPath, nil) // a caller of Outcomes has to know of one more subscriber
	return nil
}

// eventSources are the hosts whose events a connection handles or stores. The same path of two hosts is two events, so
// each host has a separate router. The zero value is empty.
type eventSources struct {
	mu        sync.Mutex // protects all below
	routers   map[string]*server.Router
	published map[eventName]publication
	stores    map[string]eventStore      // of the events that the connection publishes, by host
	watches   map[string]eventWatch      // of the services that subscribe to these
	readers   []eventReader              // of stored events, in the order of Subscribe
	checks    map[string]*publisherCheck // of the publishers of stored events
	unstored  map[unstored]time.Time     // when a subscriber told last of an event that should be stored
}

// eventReader handles the stored events of one kind.
type eventReader interface {
	Permissions() (publish, subscribe []durable.Permission)
	// DeadLettered returns the source and the event, and how many such events became dead letters here.
	DeadLettered() (source, event string, count int64)
	// HasCome reports whether an event has come to the service, as far as this instance knows.
	HasCome() bool
	// FetchNow fetches events again, as the broker may have forgotten the last fetch.
	FetchNow()
	// StartWaiting starts the events that were fetched and wait for room, if there is some.
	StartWaiting()
	// NakAll gives them back.
	NakAll()
}

// of returns the router of a source.
func (s *eventSources) of(source string) *server.Router {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.routers == nil {
		s.routers = make(map[string]*server.Router)
	}
	if s.routers[source] == nil {
		s.routers[source] = server.NewRouter()
	}
	return s.routers[source]
}

// eventWatch looks how far the services are that subscribe to the stored events of a host.
type eventWatch interface {
	// Subscribers returns how far they were at the latest look, and the bytes of the log and their limit.
	Subscribers() (all []durable.Subscriber, bytes, limit float64)
}

// stored notes that the events of a host are stored, and starts to watch the services once.
func (s *eventSources) stored(host string, store eventStore, watch func() eventWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stores == nil {
		s.stores, s.watches = make(map[string]eventStore), make(map[string]eventWatch)
	}
	s.stores[host] = store
	if s.watches[host] == nil {
		s.watches[host] = watch()
	}
}

// add adds a reader of stored events.
func (s *eventSources) add(reader eventReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers = append(s.readers, reader)
}

// reading returns the readers of stored events. The slice must not be changed.
func (s *eventSources) reading() []eventReader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readers
}

// startWaiting starts the events that wait for room: first those of the kinds that were subscribed to after the last
// one that had a turn, and those of this kind at the end.
func (s *eventSources) startWaiting(last eventReader) {
	readers := s.reading()
	turn := 1 + slices.Index(readers, last)
	for i := range readers {
		readers[(turn+i)%len(readers)].StartWaiting()
	}
}

// nakAll gives back the events that cannot be handled any more.
func (s *eventSources) nakAll() {
	for _, reader := range s.reading() {
		reader.NakAll()
	}
}

// fetchNow fetches events again after an outage: the broker, or the one in its place, may have forgotten the last
// fetch.
func (s *eventSources) fetchNow() {
	for _, reader := range s.reading() {
		reader.FetchNow()
	}
}

// permissions are what the user of the connection needs for events that are stored.
func (s *eventSources) permissions() (publish, subscribe []Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(published, subscribed []durable.Permission) {
		for _, each := range published {
			publish = append(publish, Permission{Subject: each.Subject, For: each.For})
		}
		for _, each := range subscribed {
			subscribe = append(subscribe, Permission{Subject: each.Subject, For: each.For})
		}
	}
	for _, reader := range s.readers {
		add(reader.Permissions())
	}
	for _, store := range s.stores {
		add(store.Permissions())
	}
	return publish, subscribe
}

// expose writes how many events could not be handled, from zero on, and how far the subscribers of stored events are.
func (s *eventSources) expose(text *metrics.Text, with func(...metrics.Label) []metrics.Label) {
	for _, reader := range s.reading() {
		publisher, event, count := reader.DeadLettered()
		text.Counter("busline_dead_letters_total", "Stored events that could not be handled.", float64(count),
			with(metrics.Label{Name: "publisher", Value: publisher}, metrics.Label{Name: "event", Value: event})...)
	}
	for host, watch := range s.watching() {
		subscribers, bytes, limit := watch.Subscribers()
		of := metrics.Label{Name: "publisher", Value: host}
		text.Gauge("busline_event_log_bytes", "Bytes of the events that a publisher has stored.", bytes, with(of)...)
		text.Gauge("busline_event_log_limit_bytes", "Bytes at which the oldest stored events are dropped.", limit, with(of)...)
		for _, each := range subscribers {
			labels := with(of, metrics.Label{Name: "subscriber", Value: each.Service}, metrics.Label{Name: "event", Value: each.Event})
			age := 0.0
			if !each.Oldest.IsZero() {
				age = time.Since(each.Oldest).Seconds()
			}
			text.Gauge("busline_event_backlog", "Stored events that a service has not handled.", float64(each.Backlog), labels...)
			text.Gauge("busline_event_backlog_age_seconds", "Age of the oldest stored event that a service has not handled.", age, labels...)
			text.Gauge("busline_event_in_flight", "Stored events that are handled, or wait for another attempt.", float64(each.InFlight), labels...)
			text.Gauge("busline_event_redelivered", "Stored events in flight that were delivered before.", float64(each.Redelivered), labels...)
			text.Counter("busline_event_cut_off_total", "Stored events, about, that were dropped before a service had handled them.", float64(each.CutOff), labels...)
		}
	}
}

// watching returns who is watched, by host.
func (s *eventSources) watching() map[string]eventWatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.watches)
}
