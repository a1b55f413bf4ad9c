package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/portal/internal/plane"
	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi"
)

// Limits of asking the portal.
const (
	documentAge      = 2 * time.Second // at most
	documentTimeout  = 10 * time.Second
	maxDocumentBytes = 64 << 20
)

// caller has what the bearer of a token may see. However many requests it has, it asks the portal for each document
// once at a time.
type caller struct {
	tools  *plane.Shared[*toolset]
	events *plane.Shared[*asyncapi.Document]
}

func (t *tools) newCaller(token string) *caller {
	of := portalCaller{t.conn, token}
	return &caller{
		tools:  kept(&portalDocument[*toolset]{portalCaller: of, path: outside.PathDocument, read: t.readToolset}),
		events: kept(&portalDocument[*asyncapi.Document]{portalCaller: of, path: "/asyncapi.json", read: asyncapi.Parse}),
	}
}

func (t *tools) readToolset(body []byte) (*toolset, error) {
	document, err := openapi.Parse(body)
	if err != nil {
		return nil, err
	}
	return newToolset(document, t.config), nil
}

// portalCaller is how the portal is asked for a caller.
type portalCaller struct {
	conn  *bus.Conn
	token string
}

// portalDocument is a document of the portal, and what is made of it. Only one lookup at a time uses it.
type portalDocument[T any] struct {
	portalCaller

	path   string
	read   func(body []byte) (T, error)
	tag    string // of the document, as an ETag
	latest T
}

// kept asks for a document again only when what is known is too old.
func kept[T any](document *portalDocument[T]) *plane.Shared[T] {
	return &plane.Shared[T]{Age: plane.Always[T](documentAge), Timeout: documentTimeout, Now: time.Now,
		Look: func(ctx context.Context, _ time.Time) (T, error) { return document.look(ctx) }}
}

// look asks the portal, and reads its document, unless it is the same as before.
func (d *portalDocument[T]) look(ctx context.Context) (T, error) {
	var none T
	request, err := http.NewRequestWithContext(bus.WithActor(ctx, d.token), http.MethodGet,
		"https://"+outside.HostPortal+d.path, http.NoBody)
	if err != nil {
		return none, err
	}
	if d.tag != "" {
		request.Header.Set("If-None-Match", d.tag)
	}
	response, err := d.conn.Do(request)
	if errors.Is(err, bus.ErrNoResponder) {
		return none, bus.Errorf(http.StatusServiceUnavailable,
			"the tools come from the portal, and there is none on the bus: serve it with portal.Register, here or elsewhere")
	}
	if err != nil {
		return none, err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusNotModified:
		return d.latest, nil
	case http.StatusOK:
	default:
		return none, bus.Errorf(http.StatusBadGateway, "the portal answers the request for %s with status %d", d.path,
			response.StatusCode)
	}
	body, err := wire.ReadAll(response.Body, maxDocumentBytes)
	if err != nil {
		return none, err
	}
	value, err := d.read(body)
	if err != nil {
		return none, fmt.Errorf("%s of the portal: %w", d.path, err)
	}
	d.tag, d.latest = response.Header.Get("ETag"), value
	return value, nil
}
