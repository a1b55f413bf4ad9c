package jsonschema

import (
	"encoding/json"
	"slices"

	"github.com/busline/busline/reflectapi/schema"
)

const typeNull = "null"

// Of returns a schema of OpenAPI 3.0.0 in the notation of JSON Schema, nil for nil. It shares the discriminators.
func Of(from *schema.Schema) *Schema {
	switch {
	case from == nil:
		return nil
	case from.Ref != "":
		return &Schema{Ref: from.Ref}
	}
	s := &Schema{
		Title: from.Title, Description: from.Description, Format: from.Format, Default: from.Default,
		MultipleOf: from.MultipleOf, MinLength: from.MinLength, MaxLength: from.MaxLength, Pattern: from.Pattern,
		Items: Of(from.Items), MinItems: from.MinItems, MaxItems: from.MaxItems, UniqueItems: from.UniqueItems,
		Required: from.Required, AdditionalProperties: Of(from.AdditionalProperties), MinProperties: from.MinProperties,
		MaxProperties: from.MaxProperties,
		AllOf:         ofAll(from.AllOf), AnyOf: ofAll(from.AnyOf), OneOf: ofAll(from.OneOf), Not: Of(from.Not),
		ReadOnly: from.ReadOnly, WriteOnly: from.WriteOnly, Deprecated: from.Deprecated,
	}
	if from.Properties != nil {
		s.Properties = make(map[string]*Schema)
		for name, property := range from.Properties {
			s.Properties[name] = Of(property)
		}
	}
	if from.Example != nil {
		s.Examples = []any{from.Example}
	}
	if from.Discriminator != nil {
		s.Discriminator = from.Discriminator
	}
	s.Minimum, s.ExclusiveMinimum = bound(from.Minimum, from.ExclusiveMinimum)
	s.Maximum, s.ExclusiveMaximum = bound(from.Maximum, from.ExclusiveMaximum)
	s.setContent()
	s.setType(from)
	s.setEnum(from)
	return s
}

func ofAll(from []*schema.Schema) (all []*Schema) {
	for _, one := range from {
		all = append(all, Of(one))
	}
	return all
}

// bound returns a bound as the inclusive or the exclusive one.
func bound(value schema.Number, exclusive bool) (in, ex schema.Number) {
	if exclusive {
		return "", value
	}
	return value, ""
}

// setContent replaces the formats of OpenAPI for bytes by the keywords of JSON Schema. The format of a file stays,
// because generators of code know it.
func (s *Schema) setContent() {
	switch s.Format {
	case "byte":
		s.Format, s.ContentEncoding = "", "base64"
	case "binary":
		s.ContentMediaType = "application/octet-stream"
	}
}

// setType sets the types. A schema with a type may also allow null: in OpenAPI the schemas that it combines already do
// so, or they are wrapped.
func (s *Schema) setType(from *schema.Schema) {
	switch {
	case from.Type == "":
	case !from.Nullable:
		s.Type = Types{from.Type}
	case len(s.AllOf) == 1:
		s.AnyOf, s.AllOf = []*Schema{s.AllOf[0], {Type: Types{typeNull}}}, nil
	default:
		s.Type = Types{from.Type, typeNull}
	}
}

// setEnum sets the values: null alone as a type, another one alone as a constant, and several that have names or
// descriptions as constants with these.
func (s *Schema) setEnum(from *schema.Schema) {
	values := from.Enum
	if len(values) > 0 && from.Nullable && from.Type != "" && !slices.Contains(values, nil) {
		values = append(slices.Clone(values), nil)
	}
	isDescribed := len(from.EnumNames) > 0 || len(from.EnumDescriptions) > 0
	switch {
	case len(values) == 0:
	case len(values) == 1 && values[0] == nil:
		s.Type = Types{typeNull}
	case isDescribed && len(s.OneOf) == 0:
		for i, value := range values {
			s.OneOf = append(s.OneOf, constant(from, i, value))
		}
	case len(values) == 1:
		s.Const = values[0]
	default:
		s.Enum = values
	}
}

// constant returns a schema for the value of an enum at a place.
func constant(from *schema.Schema, at int, value any) *Schema {
	if value == nil {
		return &Schema{Type: Types{typeNull}}
	}
	s := &Schema{Const: value, Description: from.EnumDescriptions[textOf(value)]}
	if at < len(from.EnumNames) {
		s.Title = from.EnumNames[at]
	}
	return s
}

// textOf returns a value of an enum as text: that of a string, the JSON of any other.
func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}
