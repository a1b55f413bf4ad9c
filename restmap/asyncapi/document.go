package asyncapi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap/jsonschema"
)

// Version is the AsyncAPI version of the documents.
const Version = "3.0.0"

// Document is an AsyncAPI 3.0.0 document: https://www.asyncapi.com/docs/reference/specification/v3.0.0. It has the
// members that services of the bus use.
type Document struct {
	AsyncAPI           string                `json:"asyncapi"` // Version
	Info               Info                  `json:"info"`
	DefaultContentType string                `json:"defaultContentType,omitempty"`
	Servers            map[string]*Server    `json:"servers,omitempty"`
	Channels           map[string]*Channel   `json:"channels"`   // "orders.example/on-ordered"
	Operations         map[string]*Operation `json:"operations"` // "mailer.example_receive_orders.example_on-ordered"
	Components         Components            `json:"components,omitzero"`
}

// Info describes the service.
type Info struct {
	Title       string `json:"title"`   // the host
	Version     string `json:"version"` // of the service, never empty
	Description string `json:"description,omitempty"`

	// LeftOut says of a document of several services, one sentence each, what is not in it and why, for programs.
	LeftOut []string `json:"x-left-out,omitempty"`
}

// Server is a broker.
type Server struct {
	Host     string `json:"host"`     // "127.0.0.1:4222"
	Protocol string `json:"protocol"` // "nats", "ws", "wss"
}

// Channel is an event of a publisher.
type Channel struct {
	Address     string                `json:"address,omitempty"` // the subject
	Title       string                `json:"title,omitempty"`
	Summary     string                `json:"summary,omitempty"`
	Description string                `json:"description,omitempty"`
	Tags        []Tag                 `json:"tags,omitempty"` // the publisher
	Parameters  map[string]*Parameter `json:"parameters,omitempty"`
	Messages    map[string]*Message   `json:"messages"`

	Durable bool   `json:"x-durable"`       // it is stored
	Key     string `json:"x-key,omitempty"` // the argument that orders it
}

// Tag is a group of channels: a publisher.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Parameter is a variable part of an address.
type Parameter struct {
	Description string `json:"description,omitempty"`
	Default     string `json:"default,omitempty"`
}

// Message is what is sent.
type Message struct {
	Name        string             `json:"name"`
	Summary     string             `json:"summary,omitempty"`
	ContentType string             `json:"contentType,omitempty"`
	Payload     *jsonschema.Schema `json:"payload,omitempty"`
	Examples    []Example          `json:"examples,omitempty"`
}

// Example is an example of a message.
type Example struct {
	Payload any `json:"payload"`
}

// Action is what a host does with an event.
type Action string

// The actions.
const (
	Send    Action = "send"    // it publishes the event
	Receive Action = "receive" // it subscribes to the event
)

// Operation is what a host does with a channel.
type Operation struct {
	Action   Action      `json:"action"`
	Summary  string      `json:"summary,omitempty"`
	Channel  Reference   `json:"channel"`
	Messages []Reference `json:"messages,omitempty"`
	Bindings *Bindings   `json:"bindings,omitempty"`

	Service string `json:"x-service"` // the host
	Durable bool   `json:"x-durable"` // it is stored, or comes from where it is stored

	// Claims is the rule that the claims of a caller must satisfy, in documents that only the authors of a service see.
	// Parse removes it.
	Claims string `json:"x-claims,omitempty"`
}

// Bindings says what is special with NATS.
type Bindings struct {
	NATS *NATSBinding `json:"nats,omitempty"`
}

// NATSBinding is the binding of an operation to NATS.
type NATSBinding struct {
	Queue          string `json:"queue,omitempty"`
	BindingVersion string `json:"bindingVersion,omitempty"`
}

// Reference refers to a part of the document.
type Reference struct {
	Ref string `json:"$ref"`
}

// Components holds the schemas for references.
type Components struct {
	Schemas map[string]*jsonschema.Schema `json:"schemas,omitempty"`
}

const channelPrefix = "#/channels/"

func channelReference(id string) Reference { return Reference{channelPrefix + escaped(id)} }

// escaped returns a name as a part of a reference (RFC 6901).
func escaped(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func messageReference(id, name string) Reference {
	return Reference{channelReference(id).Ref + "/messages/" + escaped(name)}
}

// ChannelID returns the channel to which an operation refers, "" if it refers to none.
func (o *Operation) ChannelID() string {
	name, found := strings.CutPrefix(o.Channel.Ref, channelPrefix)
	if !found {
		return ""
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
}

// ChannelID returns the name of the channel of an event: "orders.example/on-ordered".
func ChannelID(publisher, event string) string { return publisher + "/" + event }

// operationID returns the name of an operation. A host has no underscore, so no two operations share one.
func operationID(host string, action Action, publisher, event string) string {
	return strings.Join([]string{host, string(action), publisher, event}, "_")
}

// Parse parses a document that a service has published, and checks it as far as merging and showing it need. Members
// that [Document] does not have are left out, and so is what only the authors may see.
func Parse(data []byte) (*Document, error) {
	d := new(Document)
	if err := strictjson.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("AsyncAPI document: %w", err)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("AsyncAPI document: %w", err)
	}
	for _, operation := range d.Operations {
		operation.Claims = ""
	}
	return d, nil
}

// check returns the first error in a document.
func (d *Document) check() error {
	switch {
	case !strings.HasPrefix(d.AsyncAPI, "3.0."):
		return errors.New("its version is not 3.0")
	case d.Info.Title == "" || d.Info.Version == "":
		return errors.New("it has no title or no version")
	}
	for _, id := range slices.Sorted(maps.Keys(d.Channels)) {
		if err := d.Channels[id].check(id); err != nil {
			return fmt.Errorf("channel %q: %w", id, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.Operations)) {
		if err := d.checkOperation(d.Operations[id]); err != nil {
			return fmt.Errorf("operation %q: %w", id, err)
		}
	}
	for name, schema := range d.Components.Schemas {
		if schema == nil {
			return fmt.Errorf("schema %q: is null", name)
		}
	}
	return nil
}

func (c *Channel) check(id string) error {
	publisher, event, _ := strings.Cut(id, "/")
	switch {
	case publisher == "" || event == "":
		return errors.New("is not named like orders.example/on-ordered")
	case c == nil || len(c.Messages) == 0:
		return errors.New("has no messages")
	}
	for name, message := range c.Messages {
		if message == nil {
			return fmt.Errorf("message %q is null", name)
		}
	}
	for name, parameter := range c.Parameters {
		if parameter == nil {
			return fmt.Errorf("parameter %q is null", name)
		}
	}
	return nil
}

func (d *Document) checkOperation(o *Operation) error {
	switch {
	case o == nil:
		return errors.New("is null")
	case o.Action != Send && o.Action != Receive:
		return fmt.Errorf("its action %q is neither send nor receive", o.Action)
	case d.Channels[o.ChannelID()] == nil:
		return fmt.Errorf("there is no channel %q", o.Channel.Ref)
	default:
		return nil
	}
}

// JSON returns the document as JSON, the same bytes for equal documents.
func (d *Document) JSON() ([]byte, error) {
	data, err := strictjson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("AsyncAPI document: %w", err)
	}
	return data, nil
}
