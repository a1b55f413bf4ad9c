package events

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi31"
)

// AsyncAPI returns the AsyncAPI 3.0.0 document, in JSON, of all events that a connection publishes and subscribes to
// now, regardless of the claims of a caller. It is meant for the authors of the service. Unlike the document on the
// bus, GET https://<host>:888/asyncapi.json, it shows the expressions of bus.RequireClaims, as x-claims.
func AsyncAPI(conn *bus.Conn) ([]byte, error) {
	if conn == nil {
		return nil, errors.New("no connection has no events: connect first")
	}
	document, err := sourcesOf(conn).document(func(feature.Endpoint) bool { return true }, true)
	if err != nil {
		return nil, err
	}
	return document.JSON()
}

// Events returns what the connection publishes, as far as a caller may see it.
func (s *sources) Events(verified claims.Claims) (*openapi31.Events, error) {
	document, err := s.document(func(access feature.Endpoint) bool { return access.Allows(verified) }, false)
	if err != nil {
		return nil, err
	}
	return document.Events(), nil
}

// serveAsyncAPI answers with the document of what the caller may see.
func (s *sources) serveAsyncAPI(w http.ResponseWriter, r *http.Request) error {
	verified := callctx.Of(r.Context()).Claims
	seen := false
	document, err := s.document(func(access feature.Endpoint) bool {
		allowed := access.Allows(verified)
		seen = seen || allowed
		return allowed
	}, false)
	switch {
	case err != nil:
		return err
	case !seen:
		return status.HasRun(http.StatusNotFound, nil, "%s has no events for this caller", s.conn.Host())
	}
	body, err := document.JSON()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "private, no-store") // it depends on the caller's claims
	_, err = w.Write(body)
	return err
}

// document returns the document of the events that are visible, for their authors with claims.
func (s *sources) document(visible func(access feature.Endpoint) bool, own bool) (*asyncapi.Document, error) {
	service := asyncapi.Service{Host: s.conn.Host(), Version: s.conn.Version(), Description: s.Description(),
		Servers: s.servers()}
	add := func(access feature.Endpoint, event *asyncapi.Event) {
		if !visible(access) {
			return
		}
		if own {
			event.Claims = access.Claims()
		}
		service.Events = append(service.Events, event)
	}
	for _, published := range s.publishes() {
		by := s.publicationOf(published.Publisher, published.Event)
		event := &asyncapi.Event{
			Action: asyncapi.Send, Publisher: published.Publisher, Name: published.Event, Doc: by.publisher.doc,
			Key: published.Key, Durable: published.Durable,
			Address: eventSubject(s.conn.Plane(), published.Publisher, published.Event, published.Durable),
		}
		if described := by.publisher.described[eventName{published.Publisher, "/" + published.Event}]; described != nil {
			event.Endpoint = described.Mapped()
		}
		add(by.publisher.access, event)
	}
	for _, handled := range s.subscriptions() {
		source := handled.Routed().Source
		event := &asyncapi.Event{
			Action: asyncapi.Receive, Publisher: source, Name: handled.name(), Endpoint: handled.Mapped(), Key: handled.key(),
			Durable: handled.stored,
			Address: eventSubject(s.conn.Plane(), source, handled.name(), handled.stored),
		}
		if !handled.stored {
			event.Queue = handled.queueOf(s.conn)
		}
		add(handled, event)
	}
	document, err := asyncapi.Build(service)
	if err != nil {
		return nil, fmt.Errorf("describe the events of %s: %w", s.conn.Host(), err)
	}
	return document, nil
}

// eventSubject returns the subject of an event. One that is stored has a partition at the end.
func eventSubject(plane, publisher, event string, durable bool) string {
	segments, err := subject.Segments("/" + event)
	switch {
	case err != nil: // it was refused before
		return ""
	case durable:
		return subject.Event(plane, publisher, subject.Escape(segments[0]), "{partition}")
	}
	to, err := subjectOf(plane, publisher, "/"+event)
	if err != nil {
		return ""
	}
	return to
}

// servers returns the addresses of the broker, without logins; none of a broker within the process.
func (s *sources) servers() map[string]*asyncapi.Server {
	options := s.conn.NATS().Opts
	if options.InProcessServer != nil {
		return nil
	}
	addresses := options.Servers
	if len(addresses) == 0 {
		addresses = strings.Split(options.Url, ",")
	}
	servers := make(map[string]*asyncapi.Server)
	for _, address := range addresses {
		address = strings.TrimSpace(address)
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		at, err := url.Parse(address)
		if err != nil || at.Host == "" {
			continue
		}
		name, protocol := "nats", "nats"
		if len(servers) > 0 {
			name += strconv.Itoa(len(servers) + 1)
		}
		if strings.HasPrefix(at.Scheme, "ws") {
			protocol = at.Scheme
		}
		servers[name] = &asyncapi.Server{Host: at.Host, Protocol: protocol}
	}
	return servers
}
