package asyncapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// Schema is a schema of JSON Schema Draft 07, as far as [schema.Schema] can be one.
type Schema struct {
	Ref         string `json:"$ref,omitempty"` // "#/components/schemas/Point"
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Type        Types  `json:"type,omitempty"`
	Format      string `json:"format,omitempty"`
	Default     any    `json:"default,omitempty"`
	Examples    []any  `json:"examples,omitempty"`
	Enum        []any  `json:"enum,omitempty"`

	MultipleOf       schema.Number `json:"multipleOf,omitzero"`
	Minimum          schema.Number `json:"minimum,omitzero"`
	ExclusiveMinimum schema.Number `json:"exclusiveMinimum,omitzero"`
	Maximum          schema.Number `json:"maximum,omitzero"`
	ExclusiveMaximum schema.Number `json:"exclusiveMaximum,omitzero"`

	MinLength *uint64 `json:"minLength,omitempty"`
	MaxLength *uint64 `json:"maxLength,omitempty"`
	Pattern   string  `json:"pattern,omitempty"`

	Items       *Schema `json:"items,omitempty"`
	MinItems    *uint64 `json:"minItems,omitempty"`
	MaxItems    *uint64 `json:"maxItems,omitempty"`
	UniqueItems bool    `json:"uniqueItems,omitempty"`

	Properties           map[string]*Schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"`
	MinProperties        *uint64            `json:"minProperties,omitempty"`
	MaxProperties        *uint64            `json:"maxProperties,omitempty"`

	AllOf []*Schema `json:"allOf,omitempty"`
	AnyOf []*Schema `json:"anyOf,omitempty"`
	OneOf []*Schema `json:"oneOf,omitempty"`
	Not   *Schema   `json:"not,omitempty"`

	ReadOnly   bool `json:"readOnly,omitempty"`
	WriteOnly  bool `json:"writeOnly,omitempty"`
	Deprecated bool `json:"deprecated,omitempty"`
}

// UnmarshalJSON reads a schema, which may also be true or false.
func (s *Schema) UnmarshalJSON(data []byte) error {
	switch string(bytes.TrimSpace(data)) {
	case "true":
		*s = Schema{}
		return nil
	case "false":
		*s = Schema{Not: &Schema{}}
		return nil
	}
	type plain Schema // without this method
	return strictjson.Unmarshal(data, (*plain)(s))
}

// Types are the types that a value may have. One is written as a text, several as a list.
type Types []string

// MarshalJSON writes the types.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// UnmarshalJSON reads the types.
func (t *Types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = Types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

const schemaPrefix = "#/components/schemas/"

const typeNull = "null"

// convert returns a schema of OpenAPI 3.0.0 in the notation of Draft 07.
func convert(from *schema.Schema) *Schema {
	switch {
	case from == nil:
		return nil
	case from.Ref != "":
		return &Schema{Ref: from.Ref}
	}
	s := &Schema{
		Title: from.Title, Description: from.Description, Format: from.Format, Default: from.Default, Enum: from.Enum,
		MultipleOf: from.MultipleOf, MinLength: from.MinLength, MaxLength: from.MaxLength, Pattern: from.Pattern,
		Items: convert(from.Items), MinItems: from.MinItems, MaxItems: from.MaxItems, UniqueItems: from.UniqueItems,
		Required: from.Required, AdditionalProperties: convert(from.AdditionalProperties), MinProperties: from.MinProperties,
		MaxProperties: from.MaxProperties,
		AllOf:         convertAll(from.AllOf), AnyOf: convertAll(from.AnyOf), OneOf: convertAll(from.OneOf),
		Not:      convert(from.Not),
		ReadOnly: from.ReadOnly, WriteOnly: from.WriteOnly, Deprecated: from.Deprecated,
	}
	if from.Properties != nil {
		s.Properties = make(map[string]*Schema)
		for name, property := range from.Properties {
			s.Properties[name] = convert(property)
		}
	}
	if from.Example != nil {
		s.Examples = []any{from.Example}
	}
	s.Minimum, s.ExclusiveMinimum = bound(from.Minimum, from.ExclusiveMinimum)
	s.Maximum, s.ExclusiveMaximum = bound(from.Maximum, from.ExclusiveMaximum)
	if from.Type != "" {
		s.Type = Types{from.Type}
	}
	if from.Nullable && from.Type != "" {
		s.allowNull()
	}
	return s
}

// bound returns a bound as the inclusive or the exclusive one.
func bound(value schema.Number, exclusive bool) (in, ex schema.Number) {
	if exclusive {
		return "", value
	}
	return value, ""
}

// allowNull makes a schema with a type also allow null. In OpenAPI the schemas that it combines already do so, or they
// are wrapped.
func (s *Schema) allowNull() {
	if len(s.AllOf) == 1 {
		s.AnyOf, s.AllOf, s.Type = []*Schema{s.AllOf[0], {Type: Types{typeNull}}}, nil, nil
		return
	}
	s.Type = append(s.Type, typeNull)
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, nil) {
		s.Enum = append(slices.Clone(s.Enum), nil)
	}
}

func convertAll(from []*schema.Schema) (all []*Schema) {
	for _, one := range from {
		all = append(all, convert(one))
	}
	return all
}

// reference returns the component to which a schema refers, "" if it is no such reference.
func (s *Schema) reference() string {
	name, found := strings.CutPrefix(s.Ref, schemaPrefix)
	if !found {
		return ""
	}
	return name
}

// derive returns a deep copy of a schema with other references.
func (s *Schema) derive(refer func(s *Schema) *Schema) *Schema {
	switch {
	case s == nil:
		return nil
	case s.Ref != "":
		return refer(s)
	}
	all := func(from []*Schema) (derived []*Schema) {
		for _, one := range from {
			derived = append(derived, one.derive(refer))
		}
		return derived
	}
	derived := *s
	derived.Items, derived.Not = s.Items.derive(refer), s.Not.derive(refer)
	derived.AdditionalProperties = s.AdditionalProperties.derive(refer)
	derived.AllOf, derived.AnyOf, derived.OneOf = all(s.AllOf), all(s.AnyOf), all(s.OneOf)
	derived.Properties = maps.Clone(s.Properties)
	for name, property := range derived.Properties {
		derived.Properties[name] = property.derive(refer)
	}
	return &derived
}

// carry copies the components that schemas of channels need from one document to another, under a prefix.
type carrier struct {
	from   map[string]*Schema
	to     *Document
	prefix string
}

// schema returns a schema for the other document. A reference to nothing becomes a schema for any value.
func (c *carrier) schema(s *Schema) *Schema {
	return s.derive(func(s *Schema) *Schema {
		name := s.reference()
		component := c.from[name]
		if component == nil {
			return &Schema{}
		}
		into := &c.to.Components
		if into.Schemas == nil {
			into.Schemas = make(map[string]*Schema)
		}
		if _, known := into.Schemas[c.prefix+name]; !known {
			into.Schemas[c.prefix+name] = nil // it may refer to itself
			into.Schemas[c.prefix+name] = c.schema(component)
		}
		return &Schema{Ref: schemaPrefix + c.prefix + name}
	})
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
