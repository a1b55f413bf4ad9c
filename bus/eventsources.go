package bus

import (
	"slices"
	"sync"

	"github.com/busline/busline/bus/metrics"
)

// eventSources are the hosts whose events a connection handles, or stores. What is at one path of two hosts are two
// events, so that each has a router of its own. The zero value has none.
type eventSources struct {
	mu      sync.Mutex // protects all below
	routers map[string]*router
	stores  map[string]eventStore // that events are fired to, by host
	readers []eventReader         // of stored events, in the order of Subscribe
}

// eventReader handles the stored events of one kind.
type eventReader interface {
	permissions() (publish, subscribe []Permission)
	// parkedEvents returns how many could not be handled, and what they are.
	parkedEvents() (source, event string, count int64)
	// askAnew asks for events again, as the broker may have forgotten that it was asked.
	askAnew()
	// startHeld starts the events that were fetched and wait for room, if there is some.
	startHeld()
	// letGo gives them back.
	letGo()
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

// stored notes that the events of a host are stored.
func (s *eventSources) stored(host string, store eventStore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stores == nil {
		s.stores = make(map[string]eventStore)
	}
	s.stores[host] = store
}

// read notes who handles stored events.
func (s *eventSources) read(reader eventReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers = append(s.readers, reader)
}

// reading returns those who handle stored events. They are not to be changed.
func (s *eventSources) reading() []eventReader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readers
}

// startHeld starts the events that wait for room: first of those kinds that were subscribed to after one that has just had
// its turn, and its own last.
func (s *eventSources) startHeld(last eventReader) {
	readers := s.reading()
	turn := 1 + slices.Index(readers, last)
	for i := range readers {
		readers[(turn+i)%len(readers)].startHeld()
	}
}

// letGo gives back the events that cannot be handled any more.
func (s *eventSources) letGo() {
	for _, reader := range s.reading() {
		reader.letGo()
	}
}

// askAnew has the broker that is back asked for events: it, or the one in its place, may have forgotten that it was.
func (s *eventSources) askAnew() {
	for _, reader := range s.reading() {
		reader.askAnew()
	}
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
	for _, reader := range s.reading() {
		source, event, count := reader.parkedEvents()
		text.Counter("busline_dead_letters_total", "Stored events that could not be handled and were parked.", float64(count),
			with(metrics.Label{Name: "source", Value: source}, metrics.Label{Name: "event", Value: event})...)
	}
}
