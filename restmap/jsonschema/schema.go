// Package jsonschema writes schemas of OpenAPI 3.0.0 as JSON Schema.
//
// It uses what draft 07, which AsyncAPI 3.0 has, and draft 2020-12, which OpenAPI 3.1 has, both understand alike:
// nothing stands beside a $ref, which draft 07 would ignore.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// Schema is a JSON Schema, as far as [schema.Schema] can be one.
type Schema struct {
	Ref         string `json:"$ref,omitempty"` // "#/components/schemas/Point"
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Type        Types  `json:"type,omitempty"`
	Format      string `json:"format,omitempty"`
	Default     any    `json:"default,omitempty"`
	Examples    []any  `json:"examples,omitempty"`
	Enum        []any  `json:"enum,omitempty"`
	Const       any    `json:"const,omitzero"` // not null, for which there is a type

	ContentEncoding  string `json:"contentEncoding,omitempty"`  // "base64"
	ContentMediaType string `json:"contentMediaType,omitempty"` // "application/octet-stream"

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

	Defs map[string]*Schema `json:"$defs,omitempty"` // for references within a schema that stands alone

	// Discriminator is a *schema.Discriminator in OpenAPI, and in AsyncAPI a string, the name of the member.
	Discriminator any `json:"discriminator,omitempty"`

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

// Prefix is the beginning of references to components.
const Prefix = "#/components/schemas/"

// Component returns the name of the component to which a schema refers, "" if it is not such a reference.
func (s *Schema) Component() string {
	name, found := strings.CutPrefix(s.Ref, Prefix)
	if !found {
		return ""
	}
	return name
}

// Derive returns a deep copy of a schema, nil for nil. It calls change for the copy of each schema, before those in it.
func (s *Schema) Derive(change func(s *Schema)) *Schema {
	if s == nil {
		return nil
	}
	all := func(from []*Schema) (derived []*Schema) {
		for _, one := range from {
			derived = append(derived, one.Derive(change))
		}
		return derived
	}
	derived := *s
	change(&derived)
	derived.Items, derived.Not = derived.Items.Derive(change), derived.Not.Derive(change)
	derived.AdditionalProperties = derived.AdditionalProperties.Derive(change)
	derived.AllOf, derived.AnyOf, derived.OneOf = all(derived.AllOf), all(derived.AnyOf), all(derived.OneOf)
	derived.Defs = maps.Clone(derived.Defs)
	for name, definition := range derived.Defs {
		derived.Defs[name] = definition.Derive(change)
	}
	derived.Properties = maps.Clone(derived.Properties)
	for name, property := range derived.Properties {
		derived.Properties[name] = property.Derive(change)
	}
	return &derived
}
