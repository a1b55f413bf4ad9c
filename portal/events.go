package portal

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/asyncapi"
)

// eventsHandler serves the AsyncAPI document of all events that the caller may see.
type eventsHandler struct{ catalogs *catalogs }

// ServeHTTP serves the document as JSON.
func (h *eventsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	catalog := h.catalogs.Of(bus.ActorOf(r.Context()))
	document, err := catalog.events.Read(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	serveDocument(w, r, document.body)
}

// eventsDocument is the AsyncAPI document of all events that a caller may see. It is not changed once it is made.
type eventsDocument struct {
	members []asyncapi.Member
	body    []byte
	visible map[string]map[string]bool // the events of each publisher, and whether they are stored
	leftOut []string                   // sentences
}

// merged returns the document of the members.
func (d *eventsDocument) merged(version string) *asyncapi.Document {
	return asyncapi.Merge(asyncapi.Info{
		Title: "Events on the bus", Description: strings.Join(d.leftOut, "\n"), LeftOut: d.leftOut, Version: version,
	}, d.members)
}

// gatherEvents makes the AsyncAPI document with the rights of the caller. Hosts without events, or without some for
// this caller, have none. It is the same as before if nothing has changed.
func (c *catalog) gatherEvents(ctx context.Context, began time.Time) (*eventsDocument, error) {
	ctx = bus.WithActor(ctx, c.token)
	found, err := c.discovery.read(ctx)
	if err != nil {
		return nil, err
	}
	documents, errs := c.eventDocuments.refresh(found.hosts, began,
		func(host string) uint64 { return found.generations[host] },
		func(host string, before *keptDocument[asyncapi.Document]) (*keptDocument[asyncapi.Document], error) {
			return c.fetchEvents(ctx, host, before)
		})
	var members []asyncapi.Member
	var leftOut []string
	for at, host := range found.hosts {
		if errs[at] != nil {
			leftOut = append(leftOut, host+" is left out: "+errs[at].Error()+".")
		} else if document := documents[at].document; document != nil {
			members = append(members, asyncapi.Member{Host: host, Document: document})
		}
	}
	leftOut = append(leftOut, found.overflow()...)
	if last := c.latestEvents; last != nil && slices.Equal(last.members, members) && slices.Equal(last.leftOut, leftOut) {
		return last, nil
	}
	document := &eventsDocument{members: members, visible: make(map[string]map[string]bool), leftOut: leftOut}
	merged := document.merged(c.conn.Version())
	for id, channel := range merged.Channels {
		publisher, event, _ := strings.Cut(id, "/")
		if document.visible[publisher] == nil {
			document.visible[publisher] = make(map[string]bool)
		}
		document.visible[publisher][event] = channel.Durable
	}
	if document.body, err = merged.JSON(); err != nil {
		return nil, err
	}
	c.latestEvents = document
	return document, nil
}

// fetchEvents returns the AsyncAPI document of a host; it has none if the host has none.
func (c *catalog) fetchEvents(ctx context.Context, host string,
	before *keptDocument[asyncapi.Document]) (*keptDocument[asyncapi.Document], error) {
	body, err := c.get(ctx, "https://"+host+":888/asyncapi.json")
	if err != nil {
		return nil, err
	}
	return before.next(body, func(body []byte) (*asyncapi.Document, error) {
		document, err := asyncapi.Parse(body)
		if err != nil {
			return nil, fmt.Errorf("its document cannot be read: %w", err)
		}
		return document, nil
	})
}
