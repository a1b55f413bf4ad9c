package portal

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/asyncapi"
)

// eventsHandler serves the AsyncAPI document of all events that the caller may see.
type eventsHandler struct{ catalogs *catalogs }

// ServeHTTP serves the document as JSON. It must not be cached, because the bus changes.
func (h *eventsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	document, err := h.catalogs.of(bus.ActorOf(r.Context())).events.read(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	serveJSON(w, document.body)
}

// eventsDocument is the AsyncAPI document of all events that a caller may see. It is not changed once it is made.
type eventsDocument struct {
	body    []byte
	visible map[string]map[string]bool // the events of each publisher, and whether they are stored
	leftOut []string                   // sentences
}

// gatherEvents makes the AsyncAPI document with the rights of the caller. Hosts without events, or without some for this caller, have none.
func (c *catalog) gatherEvents(ctx context.Context, _ time.Time) (*eventsDocument, error) {
	ctx = bus.WithActor(ctx, c.token)
	found, err := c.discover(ctx)
	if err != nil {
		return nil, err
	}
	documents, errs := make([]*asyncapi.Document, len(found.hosts)), make([]error, len(found.hosts))
	inParallel(len(found.hosts), func(at int) {
		documents[at], errs[at] = c.fetchEvents(ctx, found.hosts[at])
	})
	var members []asyncapi.Member
	var leftOut []string
	for at, host := range found.hosts {
		if errs[at] != nil {
			leftOut = append(leftOut, host+" is left out: "+errs[at].Error()+".")
		} else if documents[at] != nil {
			members = append(members, asyncapi.Member{Host: host, Document: documents[at]})
		}
	}
	leftOut = append(leftOut, found.overflow()...)
	merged := asyncapi.Merge(asyncapi.Info{
		Title: "Events on the bus", Description: strings.Join(leftOut, "\n"), LeftOut: leftOut, Version: cmp.Or(c.conn.Version(), "0"),
	}, members)
	made := &eventsDocument{visible: make(map[string]map[string]bool), leftOut: leftOut}
	for id, channel := range merged.Channels {
		publisher, event, _ := strings.Cut(id, "/")
		if made.visible[publisher] == nil {
			made.visible[publisher] = make(map[string]bool)
		}
		made.visible[publisher][event] = channel.Durable
	}
	made.body, err = merged.JSON()
	return made, err
}

// fetchEvents returns the AsyncAPI document of a host, or nil if it has none.
func (c *catalog) fetchEvents(ctx context.Context, host string) (*asyncapi.Document, error) {
	body, err := c.get(ctx, "https://"+host+":888/asyncapi.json")
	if body == nil || err != nil {
		return nil, err
	}
	document, err := asyncapi.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("its document cannot be read: %w", err)
	}
	return document, nil
}
