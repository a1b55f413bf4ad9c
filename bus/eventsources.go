package bus

import (
	"maps"
	"slices"
	"sync"

	"github.com/busline/busline/bus/metrics"
)

// eventSources are the hosts whose events a connection handles, or stores. What is at one path of two hosts are two
// events, so that each has a router of its own. The zero value has none.
type eventSources struct {
	mu      sync.Mutex // protects all below
	routers map[string]*router
	stores  map[string]eventStore  // that events are fired to, by host
	readers map[string]eventReader // of stored events, by host
}

// eventReader handles stored events.
type eventReader interface {
	permissions() (publish, subscribe []Permission)
	// parkedEvents returns how many could not be handled.
	parkedEvents() int64
}

// of returns the router of a source.
func (s *eventSources) of(source string) *router {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.routers == nil {
		s.routers = make(map[string]*router)
	}
	if s.routers[source] == nil {
		s.routers[source] = newRouter()
	}
	return s.routers[source]
}

// routerOf returns where an endpoint is found.
func (c *Conn) routerOf(e *endpoint) *router {
	if e.source == "" {
		return c.router
	}
	return c.events.of(e.source)
}

// stored notes that the events of a host are stored.
func (s *eventSources) stored(host string, store eventStore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stores == nil {
		s.stores = make(map[string]eventStore)
	}
	s.stores[host] = store
}

// read notes who handles the stored events of a host.
func (s *eventSources) read(host string, reader eventReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers == nil {
		s.readers = make(map[string]eventReader)
	}
	s.readers[host] = reader
}

func (s *eventSources) reads(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readers[host] != nil
}

// permissions are what the user of the connection needs for events that are stored.
func (s *eventSources) permissions() (publish, subscribe []Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(published, subscribed []Permission) {
		publish, subscribe = append(publish, published...), append(subscribe, subscribed...)
	}
	for _, reader := range s.readers {
		add(reader.permissions())
	}
	for _, store := range s.stores {
		add(store.permissions())
	}
	return publish, subscribe
}

// expose writes as one metric how many events could not be handled, from zero on.
func (s *eventSources) expose(text *metrics.Text, with func(...metrics.Label) []metrics.Label) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, source := range slices.Sorted(maps.Keys(s.readers)) {
		text.Counter("busline_events_parked_total", "Stored events that could not be handled and were parked.",
			float64(s.readers[source].parkedEvents()), with(metrics.Label{Name: "source", Value: source})...)
	}
}
