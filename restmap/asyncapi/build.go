package asyncapi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/jsonschema"
	"github.com/busline/busline/restmap/openapi"
)

// Service is what [Build] describes: the events of one host.
type Service struct {
	Host        string // "orders.example"
	Version     string // of the service; "" becomes "0", because a document needs one
	Description string // "" becomes "The events of orders.example."
	Servers     map[string]*Server
	Events      []*Event
}

// Event is an event that the host publishes or subscribes to.
type Event struct {
	Action    Action
	Publisher string            // "orders.example"
	Name      string            // "on-ordered"
	Endpoint  *restmap.Endpoint // the method of its interface; nil if that is not known
	Address   string            // its subject, with {partition}
	Doc       string            // describes the publisher
	Key       string            // the argument that orders it, "" for none
	Queue     string            // of a subscription that is not durable, "" for none
	Claims    string            // for documents that only authors see; "" leaves it out
	Durable   bool
}

// partition is the parameter of an address under which events are stored.
const partition = "partition"

// Build returns the document of a service. Where the host publishes an event and subscribes to it, the channel is what
// it publishes. An error is that of a type without a schema.
func Build(service Service) (*Document, error) {
	d := &Document{
		AsyncAPI: Version, DefaultContentType: contentType, Servers: service.Servers,
		Info: Info{
			Title: service.Host, Version: cmp.Or(service.Version, "0"),
			Description: cmp.Or(service.Description, "The events of "+service.Host+"."),
		},
		Channels: make(map[string]*Channel), Operations: make(map[string]*Operation),
	}
	events := slices.SortedStableFunc(slices.Values(service.Events),
		func(a, b *Event) int { return cmp.Compare(rank(a), rank(b)) })
	schemas, err := newPayloads(service.Host, events)
	if err != nil {
		return nil, err
	}
	carry := &carrier{from: schemas.components(), to: d}
	for _, event := range events {
		id := ChannelID(event.Publisher, event.Name)
		if d.Channels[id] == nil {
			d.Channels[id] = carry.channel(schemas.channel(event))
		}
		d.Operations[operationID(service.Host, event.Action, event.Publisher, event.Name)] = newOperation(service.Host, event,
			d.Channels[id])
	}
	return d, nil
}

// rank puts the events that describe their channel best first.
func rank(event *Event) int {
	switch {
	case event.Endpoint == nil:
		return 2
	case event.Action == Receive:
		return 1
	default:
		return 0
	}
}

const contentType = "application/json"

func newOperation(host string, event *Event, channel *Channel) *Operation {
	id := ChannelID(event.Publisher, event.Name)
	o := &Operation{
		Action: event.Action, Summary: summary(host, event.Action, event.Publisher, event.Name),
		Channel:  channelReference(id),
		Messages: messagesOf(id, channel), Service: host, Durable: event.Durable, Claims: event.Claims,
	}
	if event.Queue != "" {
		o.Bindings = &Bindings{NATS: &NATSBinding{Queue: event.Queue, BindingVersion: "0.1.0"}}
	}
	return o
}

func summary(host string, action Action, publisher, event string) string {
	switch {
	case action == Receive:
		return fmt.Sprintf("%s subscribes to %s of %s", host, event, publisher)
	case host == publisher:
		return fmt.Sprintf("%s publishes %s", host, event)
	default:
		return fmt.Sprintf("%s publishes %s of %s", host, event, publisher)
	}
}

func messagesOf(id string, channel *Channel) (all []Reference) {
	for _, name := range slices.Sorted(maps.Keys(channel.Messages)) {
		all = append(all, messageReference(id, name))
	}
	return all
}

// payloads are the schemas of events, from a document in which each publisher has a port of its own.
type payloads struct {
	host     string
	ports    map[string]int // by publisher
	document *openapi.Document
}

func newPayloads(host string, events []*Event) (*payloads, error) {
	p := &payloads{host: host, ports: make(map[string]int)}
	service := openapi.Service{Host: host}
	described := make(map[string]bool)
	for _, event := range events {
		id := ChannelID(event.Publisher, event.Name)
		if event.Endpoint == nil || described[id] {
			continue
		}
		described[id] = true
		if p.ports[event.Publisher] == 0 {
			p.ports[event.Publisher] = len(p.ports) + 1
		}
		service.Endpoints = append(service.Endpoints,
			&openapi.EndpointDoc{Endpoint: event.Endpoint, Port: p.ports[event.Publisher]})
	}
	var err error
	p.document, err = openapi.Build(service)
	return p, err
}

// components returns the schemas that channels may refer to.
func (p *payloads) components() map[string]*jsonschema.Schema {
	all := make(map[string]*jsonschema.Schema)
	for name, schema := range p.document.Components.Schemas {
		all[name] = jsonschema.Of(schema)
	}
	return all
}

// channel describes the channel of an event.
func (p *payloads) channel(event *Event) *Channel {
	channel := &Channel{
		Address: event.Address, Title: event.Name, Tags: []Tag{{Name: event.Publisher, Description: event.Doc}},
		Durable: event.Durable, Key: event.Key,
	}
	if strings.Contains(event.Address, "{"+partition+"}") {
		channel.Parameters = map[string]*Parameter{partition: {Description: "Events with equal keys are in one partition, " +
			"in order.", Default: "0"}}
	}
	message := &Message{Name: event.Name, Summary: "The body of an HTTP/1.1 request.", ContentType: contentType}
	if event.Endpoint != nil {
		path := fmt.Sprintf("/%s:%d%s", p.host, p.ports[event.Publisher], event.Endpoint.Path())
		operation := p.document.Paths[path].Post
		payload := operation.RequestBody.Content[contentType].Schema
		channel.Title = event.Endpoint.Method.Name
		channel.Summary, channel.Description = operation.Summary, operation.Description
		message.Name, message.Payload = operation.OperationID, jsonschema.Of(payload)
		if example := p.example(payload); len(example) > 0 {
			message.Examples = []Example{{Payload: example}}
		}
	}
	channel.Messages = map[string]*Message{message.Name: message}
	return channel
}

// example returns an example of arguments, of the examples and defaults of all that are required; nil if one has none.
func (p *payloads) example(arguments *schema.Schema) map[string]any {
	arguments = p.resolve(arguments)
	example := make(map[string]any)
	for name, schema := range arguments.Properties {
		value := cmp.Or(schema.Example, schema.Default)
		if resolved := p.resolve(schema); value == nil {
			value = cmp.Or(resolved.Example, resolved.Default)
		}
		switch {
		case value != nil:
			example[name] = value
		case slices.Contains(arguments.Required, name):
			return nil
		}
	}
	return example
}

// resolve follows a reference, if the schema is one or only annotates one.
func (p *payloads) resolve(schema *schema.Schema) *schema.Schema {
	if wrapped := schema.Wrapped(); wrapped != nil {
		schema = wrapped
	}
	if component := p.document.Components.Schemas[strings.TrimPrefix(schema.Ref, jsonschema.Prefix)]; schema.Ref != "" &&
		component != nil {
		return component
	}
	return schema
}
