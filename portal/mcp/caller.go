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
	"github.com/busline/busline/restmap/openapi"
)

// Limits of asking the portal.
const (
	toolsAge         = 2 * time.Second // the portal's document is as old at most
	documentTimeout  = 10 * time.Second
	maxDocumentBytes = 64 << 20
)

// caller has the tools of the bearer of a token. However many requests it has, it asks the portal once at a time.
type caller struct {
	tools plane.Shared[*toolset]

	// Only the running lookup uses these.
	tag    string // of the document, as an ETag
	latest *toolset
}

func (t *tools) newCaller(token string) *caller {
	c := new(caller)
	c.tools = plane.Shared[*toolset]{Age: plane.Always[*toolset](toolsAge), Timeout: documentTimeout, Now: time.Now,
		Look: func(ctx context.Context, _ time.Time) (*toolset, error) {
			return c.look(bus.WithActor(ctx, token), t)
		}}
	return c
}

// look asks the portal what the caller may call, and makes tools of it, unless it is the same as before.
func (c *caller) look(ctx context.Context, t *tools) (*toolset, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+outside.HostPortal+"/openapi.json",
		http.NoBody)
	if err != nil {
		return nil, err
	}
	if c.tag != "" {
		request.Header.Set("If-None-Match", c.tag)
	}
	response, err := t.conn.Do(request)
	if errors.Is(err, bus.ErrNoResponder) {
		return nil, bus.Errorf(http.StatusServiceUnavailable,
			"the tools come from the portal, and there is none on the bus: serve it with portal.Register, here or elsewhere")
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusNotModified:
		return c.latest, nil
	case http.StatusOK:
	default:
		return nil, bus.Errorf(http.StatusBadGateway, "the portal answers the request for its document with status %d",
			response.StatusCode)
	}
	body, err := wire.ReadAll(response.Body, maxDocumentBytes)
	if err != nil {
		return nil, err
	}
	document, err := openapi.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("the document of the portal: %w", err)
	}
	c.tag, c.latest = response.Header.Get("ETag"), newToolset(document, t.config)
	return c.latest, nil
}
