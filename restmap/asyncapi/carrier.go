package asyncapi

import (
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/jsonschema"
)

// carrier copies the components that schemas of channels need from one document to another, under a prefix.
type carrier struct {
	from   map[string]*jsonschema.Schema
	to     *Document
	prefix string
}

// schema returns a schema for the other document. A reference to nothing becomes a schema for any value.
func (c *carrier) schema(s *jsonschema.Schema) *jsonschema.Schema {
	return s.Derive(func(s *jsonschema.Schema) {
		s.Discriminator = discriminator(s.Discriminator)
		if s.Ref == "" {
			return
		}
		name := s.Component()
		component := c.from[name]
		if component == nil {
			*s = jsonschema.Schema{}
			return
		}
		into := &c.to.Components
		if into.Schemas == nil {
			into.Schemas = make(map[string]*jsonschema.Schema)
		}
		if _, known := into.Schemas[c.prefix+name]; !known {
			into.Schemas[c.prefix+name] = nil // it may refer to itself
			into.Schemas[c.prefix+name] = c.schema(component)
		}
		s.Ref = jsonschema.Prefix + c.prefix + name
	})
}

// discriminator returns a discriminator as AsyncAPI has it: the name of a member alone, because each alternative says
// which value it has there; nil for none.
func discriminator(of any) any {
	switch of := of.(type) {
	case string:
		return of
	case *schema.Discriminator:
		return of.PropertyName
	}
	return nil
}

// channel returns a channel for the other document.
func (c *carrier) channel(from *Channel) *Channel {
	carried := *from
	carried.Messages = make(map[string]*Message)
	for name, message := range from.Messages {
		m := *message
		m.Payload = c.schema(message.Payload)
		carried.Messages[name] = &m
	}
	return &carried
}
