package ingress

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/url"

	"github.com/nats-io/nats.go"
)

// NewServer is Listen with a listener of the test.
func NewServer(listener net.Listener, handler http.Handler, options ...ServerOption) *Server {
	config := &serverConfig{grace: defaultGrace, most: defaultConnections, errorLog: log.New(io.Discard, "", 0)}
	for _, option := range options {
		option.applyToServer(config)
	}
	return newServer(listener, handler, config)
}

// Held returns how many bytes of bodies an ingress keeps in memory.
func Held(i *Handler) int64 {
	i.bodies.mu.Lock()
	defer i.bodies.mu.Unlock()
	return i.bodies.held
}

// Expected returns how many calls an ingress remembers for their large responses.
func Expected(i *Handler) int {
	i.bodies.mu.Lock()
	defer i.bodies.mu.Unlock()
	return len(i.bodies.expected)
}

// ParseExposition parses metrics in the text format of Prometheus.
var ParseExposition = parseExposition

// KeepScraped returns what a scrape keeps of the answers of instances, and how many bytes of each it cuts.
func KeepScraped(texts []string) (kept []string, cut []int) {
	s := &scrape{answers: make([]scraped, len(texts))}
	for at, text := range texts {
		s.keep(at, scraped{text: text})
	}
	for _, answer := range s.answers {
		kept, cut = append(kept, answer.text), append(cut, answer.cut)
	}
	return kept, cut
}

// EncodeEvent is encodeEvent.
var EncodeEvent = encodeEvent

// EventClients returns how many clients an ingress counts streams of events of.
func EventClients(i *Handler) int {
	i.streams.clients.mu.Lock()
	defer i.streams.clients.mu.Unlock()
	return len(i.streams.clients.of)
}

// Feeds returns how many kinds of events an ingress listens to.
func Feeds(i *Handler) int {
	i.streams.feeds.mu.Lock()
	defer i.streams.feeds.mu.Unlock()
	return len(i.streams.feeds.open)
}

// Listening returns how many streams get events.
func Listening(i *Handler) (streams int) {
	forEachStream(i, func(*eventStream) { streams++ })
	return streams
}

// Queued returns how many events wait for clients.
func Queued(i *Handler) (events int) {
	forEachStream(i, func(stream *eventStream) { events += len(stream.queue) })
	return events
}

func forEachStream(i *Handler, do func(*eventStream)) {
	i.streams.feeds.mu.Lock()
	defer i.streams.feeds.mu.Unlock()
	for _, feed := range i.streams.feeds.open {
		feed.mu.Lock()
		for stream := range feed.streams {
			do(stream)
		}
		feed.mu.Unlock()
	}
}

// NATS returns the connection of an ingress to the broker.
func NATS(i *Handler) *nats.Conn { return i.conn.NATS() }

// ID returns the instance ID of an ingress.
func ID(i *Handler) string { return i.conn.ID() }

// AddressOf returns the address to which a path leads, and the public path that leads there; "" if none does.
func AddressOf(i *Handler, path string) (to *url.URL, public string, err error) {
	to, through, err := i.config.paths.addressOf(path)
	if through != nil {
		public = through.Name()
	}
	return to, public, err
}
