package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap/asyncapi"
)

// Limits of how many events one read returns.
const (
	defaultEvents = 100
	mostEvents    = 1000
)

// The query of a resource.
const (
	afterName = "after"
	sinceName = "since"
	limitName = "limit"
)

// storedEvent is an event that the caller may read.
type storedEvent struct {
	address string // "https://orders.example:417/on-ordered"
	name    string // "orders.example/on-ordered"
	channel *asyncapi.Channel
}

// description is the comment of the event, and its arguments.
func (e *storedEvent) description() string {
	return strings.TrimSpace(e.channel.Description + "\n\n" + e.channel.Summary)
}

// storedEvents returns the stored events that the caller may read, by name.
func (t *tools) storedEvents(ctx context.Context) (found []*storedEvent, err error) {
	document, err := t.callers.Of(bus.ActorOf(ctx)).events.Read(ctx)
	if err != nil {
		t.log(err, "events failed")
		return nil, internalError(outside.Visible(err))
	}
	for _, name := range slices.Sorted(maps.Keys(document.Channels)) {
		publisher, event, _ := strings.Cut(name, "/")
		if channel := document.Channels[name]; channel.Durable && t.config.events.Has(publisher, event) {
			found = append(found, &storedEvent{eventAddress(publisher, event), name, channel})
		}
	}
	return found, nil
}

func eventAddress(publisher, event string) string {
	return fmt.Sprintf("https://%s:%d/%s", publisher, subject.EventPort, event)
}

// listResources lists the stored events, each from its beginning.
func (t *tools) listResources(ctx context.Context) (sdk.Result, error) {
	found, err := t.storedEvents(ctx)
	if err != nil {
		return nil, err
	}
	result := &sdk.ListResourcesResult{Cacheable: private(), Resources: []*sdk.Resource{}}
	for _, each := range found {
		result.Resources = append(result.Resources, &sdk.Resource{URI: each.address, Name: each.name,
			Title: each.channel.Title, Description: each.description(), MIMEType: jsonType})
	}
	return result, nil
}

// listTemplates lists the stored events, each from a place on.
func (t *tools) listTemplates(ctx context.Context) (sdk.Result, error) {
	found, err := t.storedEvents(ctx)
	if err != nil {
		return nil, err
	}
	result := &sdk.ListResourceTemplatesResult{Cacheable: private(), ResourceTemplates: []*sdk.ResourceTemplate{}}
	for _, each := range found {
		result.ResourceTemplates = append(result.ResourceTemplates, &sdk.ResourceTemplate{
			URITemplate: each.address + "{?" + strings.Join([]string{afterName, sinceName, limitName}, ",") + "}",
			Name:        each.name, Title: each.channel.Title, MIMEType: jsonType,
			Description: each.description() + fmt.Sprintf("\n\nReads behind the number %s, or since a time such as "+
				"2026-01-31T12:00:00Z; up to %s events, %d of them by default.", afterName, limitName, defaultEvents)})
	}
	return result, nil
}

// place is what part of a log is read.
type place struct {
	publisher, event string
	after            *uint64
	since            time.Time
	limit            int
}

// parsePlace parses the URI of a resource: an address, and a query.
func parsePlace(uri string) (*place, error) {
	at, err := url.Parse(uri)
	if err != nil {
		return nil, fmt.Errorf("%.200q is no URI", uri)
	}
	parameters, err := url.ParseQuery(at.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query of %.200q cannot be read: %w", uri, err)
	}
	p := &place{publisher: at.Hostname(), event: strings.TrimPrefix(at.Path, "/"), limit: defaultEvents}
	plain, _, _ := strings.Cut(uri, "?")
	if plain != eventAddress(p.publisher, p.event) || subject.CheckHost(p.publisher) != nil {
		return nil, fmt.Errorf("%.200q names no event: write %s", uri, eventAddress("<host>", "<event>"))
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if len(parameters[name]) > 1 {
			return nil, fmt.Errorf("%.80q is in the query twice", name)
		}
		if err := p.set(name, parameters.Get(name)); err != nil {
			return nil, err
		}
	}
	if p.after != nil && !p.since.IsZero() {
		return nil, fmt.Errorf("%s and %s are both given: choose one", afterName, sinceName)
	}
	return p, nil
}

// set sets a part of the query.
func (p *place) set(name, value string) error {
	switch name {
	case afterName:
		sequence, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %.80q is no number of an event; 0 is before the first", name, value)
		}
		p.after = &sequence
	case sinceName:
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return fmt.Errorf("%s: %.80q is no time such as 2026-01-31T12:00:00Z", name, value)
		}
		p.since = at
	case limitName:
		limit, err := strconv.Atoi(value)
		if err != nil || limit < 1 || limit > mostEvents {
			return fmt.Errorf("%s: %.80q is no number from 1 to %d", name, value, mostEvents)
		}
		p.limit = limit
	default:
		return fmt.Errorf("there is no %.80q: there are %s, %s and %s%s", name, afterName, sinceName, limitName,
			similar.DidYouMean(name, []string{afterName, sinceName, limitName}))
	}
	return nil
}

// options are how the log is read.
func (p *place) options() []eventlog.TailOption {
	options := []eventlog.TailOption{eventlog.OnlyEvent(p.event), eventlog.NoFollow(), eventlog.Since(p.since)}
	if p.after != nil {
		options = append(options, eventlog.AfterSequence(*p.after))
	}
	return options
}

// readResource reads stored events.
func (t *tools) readResource(ctx context.Context, uri string) (sdk.Result, error) {
	p, err := parsePlace(uri)
	if err != nil {
		return nil, noResource(uri, err.Error())
	}
	if !t.config.events.Has(p.publisher, p.event) {
		return nil, t.unknownEvent(ctx, uri, p, outside.ErrNotOpen(p.publisher, p.event))
	}
	stored, err := outside.AskEvent(ctx, t.conn, t.config.events, p.publisher, p.event)
	switch {
	case bus.StatusOf(err) == http.StatusNotFound:
		return nil, t.unknownEvent(ctx, uri, p, err)
	case err != nil:
		return nil, t.failedToRead(err)
	case !stored:
		return nil, invalid("the event %s of %s is not stored: nothing of it can be read later", p.event, p.publisher)
	}
	text, err := t.readLog(ctx, p)
	if err != nil {
		return nil, t.failedToRead(err)
	}
	return &sdk.ReadResourceResult{Cacheable: private(), Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: jsonType,
		Text: string(text)}}}, nil
}

// unknownEvent adds to an error which event may be meant.
func (t *tools) unknownEvent(ctx context.Context, uri string, p *place, err error) error {
	found, failed := t.storedEvents(ctx)
	if failed != nil {
		return failed
	}
	names := make([]string, len(found))
	for i, each := range found {
		names[i] = each.name
	}
	detail := outside.DetailOf(err)
	if !strings.Contains(detail, "did you mean") {
		detail += similar.DidYouMean(p.publisher+"/"+p.event, names)
	}
	return noResource(uri, detail)
}

// failedToRead returns an error as clients may see it: theirs, or one of the bus.
func (t *tools) failedToRead(err error) error {
	t.log(err, "events failed")
	visible := outside.Visible(err)
	if visible.Status < http.StatusInternalServerError {
		return invalid("%s", visible.Detail)
	}
	return internalError(visible)
}

// noResource is the error for a URI that leads to no resource (SEP-2164).
func noResource(uri, detail string) error {
	const longest = 200
	var data outside.Object
	data.Set("uri", uri[:min(len(uri), longest)])
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: detail, Data: data.JSON()}
}

func invalid(format string, arguments ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Errorf(format, arguments...).Error()}
}

// readEvent is an event that was read.
type readEvent struct {
	Sequence uint64          `json:"sequence"`
	Stored   time.Time       `json:"stored"`
	ID       string          `json:"id"`
	Body     json.RawMessage `json:"body,omitempty"` // a text if it is not JSON
	Omitted  string          `json:"omitted,omitempty"`
}

// readEvents is what a resource has.
type readEvents struct {
	Events []readEvent `json:"events"`
	After  uint64      `json:"after"` // where to read on
	More   bool        `json:"more"`
}

// readLog reads a part of a log, as JSON.
func (t *tools) readLog(ctx context.Context, p *place) ([]byte, error) {
	read := readEvents{Events: []readEvent{}}
	if p.after != nil {
		read.After = *p.after
	}
	size := 0
	for event, err := range eventlog.Tail(ctx, t.conn, p.publisher, p.options()...) {
		if err != nil {
			return nil, err
		}
		size += len(event.Body)
		if read.More = len(read.Events) == p.limit || size > t.config.resultLimit && len(read.Events) > 0; read.More {
			break
		}
		one := readEvent{Sequence: event.Sequence, Stored: event.Stored, ID: event.ID, Body: json.RawMessage(event.Body)}
		switch {
		case len(event.Body) > t.config.resultLimit:
			one.Body, one.Omitted = nil, fmt.Sprintf("the body has %d bytes, more than %d", len(event.Body),
				t.config.resultLimit)
		case event.Body == "":
			one.Body = json.RawMessage("{}")
		case !json.Valid(one.Body):
			one.Body = json.RawMessage(outside.Quote(event.Body))
		}
		read.Events, read.After = append(read.Events, one), event.Sequence
	}
	return strictjson.Marshal(read)
}
