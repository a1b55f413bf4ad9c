package events

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/metrics"
)

// connection is the connection of an extension.
type connection = feature.Conn

// sources are the hosts whose events a connection handles or publishes. The same path of two hosts is two events, so
// each host has a separate router. It is the extension of a connection.
type sources struct {
	connection
	conn   *bus.Conn
	logger zerolog.Logger

	warned logqueue.Once // what warn has logged

	listing, publishing bool // what port 888 has of events; protected by registering of the connection

	mu        sync.Mutex // protects all below
	routers   map[string]*server.Router
	handled   []*handledEvent // in the order of Subscribe
	published map[eventName]publication
	stores    map[string]store           // of the events that the connection publishes, by host
	watches   map[string]eventWatch      // of the services that subscribe to these
	readers   []eventReader              // of stored events, in the order of Subscribe
	checks    map[string]*publisherCheck // of the publishers of stored events
	needs     []natsconn.Permission      // beside those of stores and readers
	unstored  map[unstored]time.Time     // when a subscriber asked last for an event that should be stored
}

// sourcesOf returns the extension of a connection.
func sourcesOf(conn *bus.Conn) *sources {
	c := feature.Bus.Conn(conn)
	found, _ := c.Extension("events", func() feature.Extension {
		return &sources{
			connection: c, conn: conn, logger: conn.Logger(), routers: make(map[string]*server.Router),
			published: make(map[eventName]publication),
			stores:    make(map[string]store), watches: make(map[string]eventWatch), checks: make(map[string]*publisherCheck),
			unstored: make(map[unstored]time.Time),
		}
	}).(*sources)
	return found
}

// addHandled adds events that are live.
func (s *sources) addHandled(events []*handledEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handled = append(s.handled, events...)
	for _, each := range events {
		s.share(subscribed{each.Routed().Source, each.Routed().Path}, each)
	}
}

// subscriptions returns the events that are handled.
func (s *sources) subscriptions() []*handledEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.handled)
}

// eventReader handles the stored events of one kind.
type eventReader interface {
	Permissions() (publish, subscribe []natsconn.Permission)
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

// router returns the router of a source.
func (s *sources) router(source string) *server.Router {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.routers[source] == nil {
		s.routers[source] = server.NewRouter()
	}
	return s.routers[source]
}

// eventWatch looks how far the services are that subscribe to the stored events of a host.
type eventWatch interface {
	// Subscribers returns how far they were at the latest look, and the bytes of the log and their limit.
	Subscribers() (all []durable.Subscriber, bytes, limit float64)
	// Note returns a sentence for operators about the servers that have the log; "" if nothing is amiss.
	Note() string
}

// stored notes that the events of a host are stored, and starts to watch the services once.
func (s *sources) stored(host string, store store, watch func() eventWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stores[host] = store
	if s.watches[host] == nil {
		s.watches[host] = watch()
	}
}

// storeFor returns where the events of a host are stored, nil if the connection does not know.
func (s *sources) storeFor(host string) store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stores[host]
}

// add adds a reader of stored events.
func (s *sources) add(reader eventReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers = append(s.readers, reader)
}

// reading returns the readers of stored events. The slice must not be changed.
func (s *sources) reading() []eventReader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readers
}

// startWaiting starts the events that wait for room: first those of the kinds that were subscribed to after the last
// one that had a turn, and those of this kind at the end.
func (s *sources) startWaiting(last eventReader) {
	readers := s.reading()
	turn := 1 + slices.Index(readers, last)
	for i := range readers {
		readers[(turn+i)%len(readers)].StartWaiting()
	}
}

// Close gives back the events that cannot be handled any more. There are some only if the time of Close is up.
func (s *sources) Close() { s.giveBack() }

// giveBack gives back the events that wait for room.
func (s *sources) giveBack() {
	for _, reader := range s.reading() {
		reader.NakAll()
	}
}

// Reconnected fetches events again after an outage: the broker, or the one in its place, may have forgotten the last
// fetch.
func (s *sources) Reconnected() {
	for _, reader := range s.reading() {
		reader.FetchNow()
	}
}

// SetReady gives back the events that wait for room, or fetches events again.
func (s *sources) SetReady(ready bool) {
	if ready {
		s.Reconnected()
	} else {
		s.giveBack()
	}
}

// Permissions are what the user of the connection needs for events that are stored.
func (s *sources) Permissions() (publish, subscribe []natsconn.Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(published, subscribed []natsconn.Permission) {
		publish, subscribe = append(publish, published...), append(subscribe, subscribed...)
	}
	for _, reader := range s.readers {
		add(reader.Permissions())
	}
	for _, store := range s.stores {
		add(store.Permissions())
	}
	return append(publish, s.needs...), subscribe
}

// need notes a permission to publish that the connection needs beside those of what it stores and reads.
func (s *sources) need(permission natsconn.Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.needs, permission) {
		s.needs = append(s.needs, permission)
	}
}

// Expose writes how many events could not be handled, from zero on, and how far the subscribers of stored events are.
func (s *sources) Expose(text *metrics.Text, with func(...metrics.Label) []metrics.Label) {
	for _, reader := range s.reading() {
		publisher, event, count := reader.DeadLettered()
		text.Counter("busline_dead_letters_total", "Stored events that could not be handled.", float64(count),
			with(metrics.Label{Name: "publisher", Value: publisher}, metrics.Label{Name: "event", Value: event})...)
	}
	for host, watch := range s.watching() {
		subscribers, bytes, limit := watch.Subscribers()
		of := metrics.Label{Name: "publisher", Value: host}
		text.Gauge("busline_event_log_bytes", "Bytes of the events that a publisher has stored.", bytes, with(of)...)
		text.Gauge("busline_event_log_limit_bytes", "Bytes at which the oldest stored events are dropped.",
			limit, with(of)...)
		for _, each := range subscribers {
			labels := with(of, metrics.Label{Name: "subscriber", Value: each.Service},
				metrics.Label{Name: "event", Value: each.Event})
			age := 0.0
			if !each.Oldest.IsZero() {
				age = time.Since(each.Oldest).Seconds()
			}
			text.Gauge("busline_event_backlog", "Stored events that a service has not handled.",
				float64(each.Backlog), labels...)
			text.Gauge("busline_event_backlog_age_seconds", "Age of the oldest stored event that a service has not handled.",
				age, labels...)
			text.Gauge("busline_event_in_flight", "Stored events that are handled, or wait for another attempt.",
				float64(each.InFlight), labels...)
			text.Gauge("busline_event_redelivered", "Stored events in flight that were delivered before.",
				float64(each.Redelivered), labels...)
			text.Counter("busline_event_cut_off_total",
				"Stored events, about, that were dropped before a service had handled them.", float64(each.CutOff), labels...)
		}
	}
}

// watching returns who is watched, by host.
func (s *sources) watching() map[string]eventWatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.watches)
}

// eventName identifies an event.
type eventName struct{ host, path string }

// publish notes that a publisher has an event, with the argument that orders it, "" for none. The latest publisher of
// an event counts, but not in place of one that stores it.
func (s *sources) publish(of *Publisher, path, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := eventName{of.host, path}
	if known := s.published[name].publisher; known == nil || known.store == nil || of.store != nil {
		s.published[name] = publication{of, key}
		s.share(name, publication{of, key})
	}
}

// publication is how an event is published.
type publication struct {
	publisher *Publisher
	key       string
}

// publicationOf returns how an event is published, the zero value if it is not.
func (s *sources) publicationOf(host, event string) publication {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.published[eventName{host, "/" + event}]
}

// The publisher and the subscribers of an event know its name and its arguments. Without a test that is only the own
// connection; the connections of a test's bus share what they know.

// subscribed is the key of an event that a connection of a test's bus subscribes to. An eventName is that of one that
// is published.
type subscribed eventName

// share has the other connections of a test's bus know an event.
func (s *sources) share(key, value any) {
	if s.IsStrict() {
		s.Shared().Store(key, value)
	}
}

// knownPublication returns how an event is published, the zero value if that is not known.
func (s *sources) knownPublication(name eventName) publication {
	by := s.publicationOf(name.host, strings.TrimPrefix(name.path, "/"))
	if by.publisher == nil && s.IsStrict() {
		shared, _ := s.Shared().Load(name)
		by, _ = shared.(publication)
	}
	return by
}

// knownEvents returns the names of the events that a host is known to publish.
func (s *sources) knownEvents(host string) (names []string) {
	note := func(key, _ any) bool {
		if name, isPublished := key.(eventName); isPublished && name.host == host {
			names = append(names, strings.TrimPrefix(name.path, "/"))
		}
		return true
	}
	if s.IsStrict() {
		s.Shared().Range(note)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.published {
		note(name, nil)
	}
	slices.Sort(names)
	return names
}

// warn logs a sentence once.
func (s *sources) warn(text string) {
	if s.warned.IsFirst(text) {
		s.Log(s.logger.Warn(), text)
	}
}
