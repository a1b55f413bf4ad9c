package tsclient

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/jsonschema"
)

// eventPort is where an ingress offers the events of a publisher.
const eventPort = 417

// eventComponents begins the names of the components of events, which are not those of calls.
const eventComponents = "events/"

// event is an event of a publisher, and the function for it.
type event struct {
	*asyncapi.Channel

	event       string // on-ordered
	name        string // ordered
	path, shape string
}

// addEvents adds the events to the services that publish them. What a document has only because others subscribe to it
// is not for its reader.
func addEvents(at map[place]*service, events *asyncapi.Document) {
	sent := make(map[string]bool)
	for _, each := range events.Operations {
		if each.Action == asyncapi.Send {
			sent[each.ChannelID()] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(events.Channels)) {
		if !sent[id] {
			continue
		}
		publisher, name, _ := strings.Cut(id, "/")
		s := serviceAt(at, place{publisher, defaultPort})
		channel := events.Channels[id]
		path := fmt.Sprintf("/%s:%d/%s", publisher, eventPort, name)
		s.events = append(s.events, &event{Channel: channel, event: name, path: path})
		if len(channel.Tags) > 0 && s.description == "" {
			s.description = channel.Tags[0].Description
		}
	}
}

// event returns the function for an event of a service's interface, and completes the event.
func (g *generator) event(s *service, e *event) string {
	var payloads []string
	var shapes []*schema.Schema
	for _, name := range slices.Sorted(maps.Keys(e.Messages)) {
		payload := eventSchema(e.Messages[name].Payload, g.events)
		payloads = append(payloads, g.payloadType(s, e, payload))
		shapes = append(shapes, payload)
	}
	e.shape = g.shape(&schema.Schema{AnyOf: shapes})
	described := e.Description
	if described == "" {
		described = e.Summary
	}
	return comment("    ", described) +
		fmt.Sprintf("    %s(options?: EventOptions): AsyncGenerator<EventOf<%s>, void, undefined>;\n", key(e.name),
			strings.Join(payloads, " | "))
}

// payloadType returns the type of an event's arguments: OrdersOrdered for those of on-ordered.
func (g *generator) payloadType(s *service, e *event, payload *schema.Schema) string {
	component, isComponent := strings.CutPrefix(payload.Ref, componentPrefix)
	if isComponent && g.components[component] != nil && strings.HasSuffix(component, "_in") {
		return g.name(s, s.typeName+upperCamel(e.name), component, g.components[component], e.Description, false)
	}
	return g.expression(s, payload, "    ")
}

// addEventComponents adds the components of an AsyncAPI document.
func (g *generator) addEventComponents(events *asyncapi.Document) {
	for name, described := range events.Components.Schemas {
		g.components[eventComponents+name] = eventSchema(described, events.Components.Schemas)
	}
}

// eventSchema returns a schema of an event, any for nil, in the notation of OpenAPI 3.0.0 and with the names of the
// components of events.
func eventSchema(from *jsonschema.Schema, components map[string]*jsonschema.Schema) *schema.Schema {
	if from == nil {
		return &schema.Schema{}
	}
	renamed := make(map[string]string)
	for name := range components {
		renamed[componentPrefix+name] = componentPrefix + eventComponents + name
	}
	to := from.OpenAPI(components)
	refer(to, renamed, make(map[*schema.Schema]bool))
	return to
}
