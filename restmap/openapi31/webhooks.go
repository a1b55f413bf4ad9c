package openapi31

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap/jsonschema"
	"github.com/busline/busline/restmap/openapi"
)

// Events are what one host publishes, or several do, as far as a caller may see it.
type Events struct {
	Webhooks []Webhook
	Schemas  map[string]*jsonschema.Schema // to which the payloads refer
	LeftOut  []string                      // as in [openapi.Info]
}

// Webhook is an event.
type Webhook struct {
	Publisher   string // "orders.example"
	Event       string // "on-ordered"
	About       string // describes the publisher
	Summary     string
	Description string
	Payload     *jsonschema.Schema // nil for any
}

// addEvents adds events as webhooks, with the schemas that these need.
func (d *Document) addEvents(host string, events *Events) {
	d.noteLeftOut(events.LeftOut)
	into := newEventSchemas(d, events.Schemas)
	for _, event := range slices.SortedFunc(slices.Values(events.Webhooks), func(a, b Webhook) int {
		return cmp.Or(cmp.Compare(a.Publisher, b.Publisher), cmp.Compare(a.Event, b.Event))
	}) {
		name := event.Publisher + "/" + event.Event
		if event.Publisher == host {
			name = event.Event
		}
		if d.Webhooks == nil {
			d.Webhooks = make(map[string]PathItem)
		}
		d.Webhooks[name] = PathItem{"post": webhook(event, into.schema(event.Payload))}
		d.addTag(event)
	}
}

// noteLeftOut says in the description which events are not there.
func (d *Document) noteLeftOut(sentences []string) {
	d.Info.LeftOut = slices.Clone(d.Info.LeftOut)
	for _, sentence := range sentences {
		if !slices.Contains(d.Info.LeftOut, sentence) {
			sentence = "Events: " + sentence
			d.Info.LeftOut = append(d.Info.LeftOut, sentence)
			d.Info.Description = strings.TrimPrefix(d.Info.Description+"\n"+sentence, "\n")
		}
	}
}

// webhook describes an event as the request that a subscriber gets.
func webhook(event Webhook, payload *jsonschema.Schema) *Operation {
	if payload == nil {
		payload = &jsonschema.Schema{}
	}
	return &Operation{
		Operation: &openapi.Operation{
			Tags: []string{event.Publisher}, Summary: event.Summary, Description: event.Description,
			OperationID: event.Publisher + "_" + event.Event, Security: []map[string][]string{},
		},
		RequestBody: &RequestBody{Required: true, Content: map[string]*MediaType{"application/json": {Schema: payload}}},
		Responses: map[string]*Response{
			"200":     {Description: "The event was handled"},
			"default": {Description: "The event was not handled: one that is stored comes again"},
		},
	}
}

// addTag adds the tag of a publisher that serves nothing else.
func (d *Document) addTag(event Webhook) {
	tag := openapi.Tag{Name: event.Publisher, Description: cmp.Or(event.About, "The events of "+event.Publisher+".")}
	at, known := slices.BinarySearchFunc(d.Tags, tag, func(a, b openapi.Tag) int { return cmp.Compare(a.Name, b.Name) })
	if !known {
		d.Tags = slices.Insert(slices.Clone(d.Tags), at, tag)
	}
}

// eventSchemas adds the components of events to a document. One that is the same there is shared, and one that only has
// the same name gets another one.
type eventSchemas struct {
	into  *Document
	from  map[string]*jsonschema.Schema
	names map[string]string // in the document
	added map[string]bool   // by these names
}

func newEventSchemas(into *Document, from map[string]*jsonschema.Schema) *eventSchemas {
	e := &eventSchemas{into: into, from: from, names: make(map[string]string), added: make(map[string]bool)}
	own := into.Components.Schemas
	used := make(map[string]bool)
	for name := range own {
		used[name] = true
	}
	different := differing(from, own)
	for _, name := range slices.Sorted(maps.Keys(from)) {
		e.names[name] = name
		if !different[name] {
			e.added[name] = true
			continue
		}
		for i := 1; used[e.names[name]]; i++ {
			e.names[name] = name + "_event" + strings.TrimPrefix(strconv.Itoa(i), "1")
		}
		used[e.names[name]] = true
	}
	return e
}

// schema returns a schema for the document, nil for nil. A reference to nothing becomes a schema for any value.
func (e *eventSchemas) schema(s *jsonschema.Schema) *jsonschema.Schema {
	return s.Derive(func(s *jsonschema.Schema) {
		restoreDiscriminator(s, e.from, e.reference)
		if s.Ref == "" {
			return
		}
		if e.from[s.Component()] == nil {
			*s = jsonschema.Schema{}
			return
		}
		s.Ref = e.reference(s.Component())
	})
}

// reference returns a reference to a component, which it adds to the document unless it is there.
func (e *eventSchemas) reference(component string) string {
	name := e.names[component]
	if !e.added[name] {
		e.added[name] = true // first, as it may refer to itself
		e.into.addSchema(name, e.schema(e.from[component]))
	}
	return jsonschema.Prefix + name
}

// restoreDiscriminator replaces the discriminator of AsyncAPI, which has no more than its name: each alternative, a
// component, says which value it has there.
func restoreDiscriminator(s *jsonschema.Schema, components map[string]*jsonschema.Schema, refer func(string) string) {
	name, isName := s.Discriminator.(string)
	s.Discriminator = nil
	if !isName {
		return
	}
	restored := &schema.Discriminator{PropertyName: name, Mapping: make(map[string]string)}
	for _, alternative := range s.OneOf {
		component := components[alternative.Component()]
		if component == nil || component.Properties[name] == nil {
			continue
		}
		if value, isText := component.Properties[name].Const.(string); isText {
			restored.Mapping[value] = refer(alternative.Component())
		}
	}
	s.Discriminator = restored
}

// differing returns the names of the components that are not the same in own, or refer to one that is not.
func differing(from, own map[string]*jsonschema.Schema) map[string]bool {
	names := make(map[string]bool)
	for found := true; found; {
		found = false
		for name, component := range from {
			if !names[name] && (own[name] == nil || refersTo(component, names) || !same(component, own[name], from)) {
				names[name], found = true, true
			}
		}
	}
	return names
}

func refersTo(component *jsonschema.Schema, names map[string]bool) (refers bool) {
	component.Derive(func(s *jsonschema.Schema) { refers = refers || names[s.Component()] })
	return refers
}

// same compares a component of events with one of a document, as JSON: numbers that were parsed have other types.
func same(component, own *jsonschema.Schema, components map[string]*jsonschema.Schema) bool {
	restored := component.Derive(func(s *jsonschema.Schema) {
		restoreDiscriminator(s, components, func(name string) string { return jsonschema.Prefix + name })
	})
	one, err := strictjson.Marshal(restored)
	if err != nil {
		return false
	}
	other, err := strictjson.Marshal(own)
	return err == nil && bytes.Equal(one, other)
}
