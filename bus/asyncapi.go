package bus

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap/asyncapi"
)

// AsyncAPI returns the AsyncAPI 3.0.0 document, in JSON, of all events that the connection publishes and subscribes to
// now, regardless of the claims of a caller. It is meant for the authors of the service. Unlike the document on the
// bus, GET https://<host>:888/asyncapi.json, it shows the expressions of [RequireClaims], as x-claims.
func (c *Conn) AsyncAPI() ([]byte, error) {
	return c.describeEvents(func(*endpoint) bool { return true }, true)
}

// serveAsyncAPI answers with the document of what the caller may see.
func serveAsyncAPI(w http.ResponseWriter, r *http.Request) error {
	c, verified := servingConn(r.Context()), callctx.Of(r.Context()).Claims
	seen := false
	body, err := c.describeEvents(func(e *endpoint) bool {
		allowed := e.allows(verified)
		seen = seen || allowed
		return allowed
	}, false)
	switch {
	case err != nil:
		return err
	case !seen:
		return hasRun(http.StatusNotFound, nil, "%s has no events for this caller", c.host)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "private, no-store") // it depends on the caller's claims
	_, err = w.Write(body)
	return err
}

// describeEvents returns the document of the events that are visible, for their authors with claims.
func (c *Conn) describeEvents(visible func(access *endpoint) bool, own bool) ([]byte, error) {
	service := asyncapi.Service{Host: c.host, Version: c.config.version, Description: c.config.description, Servers: c.servers()}
	add := func(access *endpoint, event *asyncapi.Event) {
		if !visible(access) {
			return
		}
		if own {
			event.Claims = access.claims
		}
		service.Events = append(service.Events, event)
	}
	for _, published := range c.events.publishes() {
		by := c.events.publicationOf(published.Publisher, published.Event)
		event := &asyncapi.Event{
			Action: asyncapi.Send, Publisher: published.Publisher, Name: published.Event, Doc: by.publisher.doc, Key: published.Key, Durable: published.Durable,
			Address: eventAddress(c.plane, published.Publisher, published.Event, published.Durable),
		}
		if e := by.publisher.described[eventName{published.Publisher, "/" + published.Event}]; e != nil {
			event.Endpoint = e.mapped
		}
		add(by.publisher.access, event)
	}
	for _, e := range c.registry.all() {
		if e.source == "" {
			continue
		}
		name := strings.TrimPrefix(e.Path, "/")
		event := &asyncapi.Event{
			Action: asyncapi.Receive, Publisher: e.source, Name: name, Endpoint: e.mapped, Key: e.mapped.Method.Declared.Key, Durable: e.stored,
			Address: eventAddress(c.plane, e.source, name, e.stored),
		}
		if !e.stored {
			event.Queue = e.brokerQueue(c)
		}
		add(e, event)
	}
	document, err := asyncapi.Build(service)
	if err != nil {
		return nil, fmt.Errorf("describe the events of %s: %w", c.host, err)
	}
	return document.JSON()
}

// eventAddress returns the subject of an event. One that is stored has a partition at the end.
func eventAddress(plane, publisher, event string, durable bool) string {
	segments, err := subject.Segments("/" + event)
	switch {
	case err != nil: // it was refused before
		return ""
	case durable:
		return subject.Event(plane, publisher, subject.Escape(segments[0]), "{partition}")
	}
	to, err := subject.Address{Port: subject.EventPort, Host: publisher, Method: http.MethodPost, Path: "/" + event}.Subject(plane)
	if err != nil {
		return ""
	}
	return to
}

// servers returns the addresses of the broker, without logins; none of a broker within the process.
func (c *Conn) servers() map[string]*asyncapi.Server {
	options := c.broker.NATS().Opts
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
