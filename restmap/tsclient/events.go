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
		payload := eventSchema(e.Messages[name].Payload)
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
		g.components[eventComponents+name] = eventSchema(described)
	}
}

// eventSchema returns a JSON Schema in the notation of OpenAPI 3.0.0, as far as types need it.
func eventSchema(from *jsonschema.Schema) *schema.Schema {
	if from == nil {
		return &schema.Schema{}
	}
	if name, isComponent := strings.CutPrefix(from.Ref, componentPrefix); isComponent {
		return &schema.Schema{Ref: componentPrefix + eventComponents + name}
	}
	all := func(from []*jsonschema.Schema) (converted []*schema.Schema) {
		for _, one := range from {
			converted = append(converted, eventSchema(one))
		}
		return converted
	}
	to := &schema.Schema{
		Description: from.Description, Deprecated: from.Deprecated,
		Format: from.Format, Enum: from.Enum, Required: from.Required,
		AllOf: all(from.AllOf), AnyOf: all(from.AnyOf),
	}
	if from.ContentEncoding == "base64" {
		to.Format = "byte"
	}
	if name, isUnion := from.Discriminator.(string); isUnion {
		to.Discriminator = &schema.Discriminator{PropertyName: name}
	}
	if from.Const != nil {
		to.Enum = []any{from.Const}
	}
	if !takeConstants(to, from.OneOf) {
		to.OneOf = all(from.OneOf)
	}
	if from.Items != nil {
		to.Items = eventSchema(from.Items)
	}
	if from.AdditionalProperties != nil {
		to.AdditionalProperties = eventSchema(from.AdditionalProperties)
	}
	if from.Not != nil {
		to.Not = eventSchema(from.Not)
	}
	for name, property := range from.Properties {
		if to.Properties == nil {
			to.Properties = make(map[string]*schema.Schema)
		}
		to.Properties[name] = eventSchema(property)
	}
	types := slices.DeleteFunc(slices.Clone(from.Type), func(one string) bool { return one == nullValue })
	to.Nullable = len(types) < len(from.Type)
	switch {
	case len(types) == 1:
		to.Type = types[0]
	case to.Nullable && len(types) == 0:
		to.Enum = []any{nil}
	}
	return to
}

// takeConstants gives a schema the values of an enum that are alternatives, with their names and descriptions. It
// reports whether they are such.
func takeConstants(to *schema.Schema, from []*jsonschema.Schema) bool {
	isConstant := func(one *jsonschema.Schema) bool {
		return one.Const != nil || slices.Equal(one.Type, jsonschema.Types{nullValue})
	}
	if len(from) == 0 || !slices.ContainsFunc(from, func(one *jsonschema.Schema) bool { return one.Const != nil }) ||
		slices.ContainsFunc(from, func(one *jsonschema.Schema) bool { return !isConstant(one) }) {
		return false
	}
	for _, one := range from {
		to.Enum, to.EnumNames = append(to.Enum, one.Const), append(to.EnumNames, one.Title)
		if one.Description != "" {
			if to.EnumDescriptions == nil {
				to.EnumDescriptions = make(map[string]string)
			}
			to.EnumDescriptions[fmt.Sprint(one.Const)] = one.Description
		}
	}
	if strings.Join(to.EnumNames, "") == "" {
		to.EnumNames = nil
	}
	return true
}
