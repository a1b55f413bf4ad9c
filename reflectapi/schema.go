package reflectapi

import "bytes"

// Schema is an OpenAPI 3.0.0 Schema Object, as far as Go types need one. A Reference Object is a Schema in which only
// Ref is set.
//
// https://spec.openapis.org/oas/v3.0.0#schema-object
type Schema struct {
	Ref         string `json:"$ref,omitempty"` // "#/components/schemas/Point"
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type,omitempty"`     // string, number, integer, boolean, array, object
	Format      string `json:"format,omitempty"`   // int64, double, date-time, byte, …
	Nullable    bool   `json:"nullable,omitempty"` // without a type: any value at all
	Default     any    `json:"default,omitempty"`
	Example     any    `json:"example,omitempty"`
	Enum        []any  `json:"enum,omitempty"`

	MultipleOf       *float64 `json:"multipleOf,omitempty"`
	Minimum          *float64 `json:"minimum,omitempty"`
	ExclusiveMinimum bool     `json:"exclusiveMinimum,omitempty"`
	Maximum          *float64 `json:"maximum,omitempty"`
	ExclusiveMaximum bool     `json:"exclusiveMaximum,omitempty"`

	MinLength *uint64 `json:"minLength,omitempty"`
	MaxLength *uint64 `json:"maxLength,omitempty"`
	Pattern   string  `json:"pattern,omitempty"`

	Items       *Schema `json:"items,omitempty"`
	MinItems    *uint64 `json:"minItems,omitempty"`
	MaxItems    *uint64 `json:"maxItems,omitempty"`
	UniqueItems bool    `json:"uniqueItems,omitempty"`

	Properties           map[string]*Schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"` // if none are allowed: {"not": {}}
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

// UnmarshalJSON reads a Schema Object. In documents from elsewhere additionalProperties may also be true, which becomes
// a schema for any value, or false, which becomes one for none.
func (s *Schema) UnmarshalJSON(data []byte) error {
	switch string(bytes.TrimSpace(data)) {
	case "true":
		*s = *anything()
		return nil
	case "false":
		*s = *nothing()
		return nil
	}
	type plain Schema // without this method
	if err := unmarshalExact(data, (*plain)(s)); err != nil {
		return err
	}
	s.Default, s.Example = exact(s.Default), exact(s.Example)
	for i := range s.Enum {
		s.Enum[i] = exact(s.Enum[i])
	}
	return nil
}

// anything returns a schema for every value, including null, which some readers do not accept for {}.
func anything() *Schema { return &Schema{Nullable: true} }

// nothing returns a schema that no value satisfies.
func nothing() *Schema { return &Schema{Not: anything()} }
