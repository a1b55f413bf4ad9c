package jsonschema

import (
	"slices"

	"github.com/busline/busline/reflectapi/schema"
)

// OpenAPI returns a schema in the notation of OpenAPI 3.0.0, nil for nil: the inverse of [Of]. The mapping of a
// discriminator is that of the constants in the alternatives, if these are components.
func (s *Schema) OpenAPI(components map[string]*Schema) *schema.Schema {
	switch {
	case s == nil:
		return nil
	case s.Ref != "":
		return &schema.Schema{Ref: s.Ref}
	}
	all := func(from []*Schema) (converted []*schema.Schema) {
		for _, one := range from {
			converted = append(converted, one.OpenAPI(components))
		}
		return converted
	}
	to := &schema.Schema{
		Title: s.Title, Description: s.Description, Format: s.Format, Default: s.Default, Enum: s.Enum,
		MultipleOf: s.MultipleOf, MinLength: s.MinLength, MaxLength: s.MaxLength, Pattern: s.Pattern,
		Items: s.Items.OpenAPI(components), MinItems: s.MinItems, MaxItems: s.MaxItems, UniqueItems: s.UniqueItems,
		Required: s.Required, AdditionalProperties: s.AdditionalProperties.OpenAPI(components),
		MinProperties: s.MinProperties, MaxProperties: s.MaxProperties,
		AllOf: all(s.AllOf), Not: s.Not.OpenAPI(components),
		ReadOnly: s.ReadOnly, WriteOnly: s.WriteOnly, Deprecated: s.Deprecated,
	}
	for name, property := range s.Properties {
		if to.Properties == nil {
			to.Properties = make(map[string]*schema.Schema)
		}
		to.Properties[name] = property.OpenAPI(components)
	}
	if len(s.Examples) > 0 {
		to.Example = s.Examples[0]
	}
	if s.ContentEncoding == "base64" {
		to.Format = "byte"
	}
	to.Minimum, to.ExclusiveMinimum = flagged(s.Minimum, s.ExclusiveMinimum, +1)
	to.Maximum, to.ExclusiveMaximum = flagged(s.Maximum, s.ExclusiveMaximum, -1)
	s.takeTypes(to)
	if !s.takeConstants(to) {
		to.OneOf = all(s.OneOf)
	}
	if !s.takeNullable(to, components) {
		to.AnyOf = all(s.AnyOf)
	}
	to.Discriminator = s.discriminator(components)
	return to
}

// flagged returns a bound and whether it is exclusive. Of both, the tighter is left; that is the larger one of two
// minima, for which tighter is 1.
func flagged(in, ex schema.Number, tighter int) (bound schema.Number, exclusive bool) {
	if ex == "" || in != "" && in.Rational().Cmp(ex.Rational()) == tighter {
		return in, false
	}
	return ex, true
}

// takeTypes gives a schema the type, and null.
func (s *Schema) takeTypes(to *schema.Schema) {
	types := slices.DeleteFunc(slices.Clone(s.Type), func(one string) bool { return one == typeNull })
	to.Nullable = len(types) < len(s.Type)
	switch {
	case len(types) == 1:
		to.Type = types[0]
	case to.Nullable && len(types) == 0:
		to.Type, to.Enum = "string", []any{nil}
	}
	if s.Const != nil {
		to.Enum = []any{s.Const}
	}
}

// takeConstants gives a schema the values of an enum that are alternatives, with their names and descriptions. It
// reports whether they are such.
func (s *Schema) takeConstants(to *schema.Schema) bool {
	isConstant := func(one *Schema) bool { return one.Const != nil || slices.Equal(one.Type, Types{typeNull}) }
	if len(s.OneOf) == 0 || slices.ContainsFunc(s.OneOf, func(one *Schema) bool { return !isConstant(one) }) {
		return false
	}
	named := false
	for _, one := range s.OneOf {
		name := one.Title
		if one.Const == nil {
			name = "Null"
		}
		to.Enum, to.EnumNames = append(to.Enum, one.Const), append(to.EnumNames, name)
		named = named || one.Title != ""
		if one.Description != "" {
			if to.EnumDescriptions == nil {
				to.EnumDescriptions = make(map[string]string)
			}
			to.EnumDescriptions[textOf(one.Const)] = one.Description
		}
	}
	if !named {
		to.EnumNames = nil
	}
	return true
}

// takeNullable gives a schema the only alternative to null, and reports whether there is one.
func (s *Schema) takeNullable(to *schema.Schema, components map[string]*Schema) bool {
	if len(s.AnyOf) != 2 || !slices.Equal(s.AnyOf[1].Type, Types{typeNull}) || s.AnyOf[0].Ref == "" {
		return false
	}
	to.AllOf, to.Nullable, to.Type = []*schema.Schema{{Ref: s.AnyOf[0].Ref}}, true, "object"
	if component := components[s.AnyOf[0].Component()]; component != nil && len(component.Type) == 1 {
		to.Type = component.Type[0]
	}
	return true
}

// discriminator returns that of a union, nil if it is none.
func (s *Schema) discriminator(components map[string]*Schema) *schema.Discriminator {
	var of *schema.Discriminator
	switch said := s.Discriminator.(type) {
	case *schema.Discriminator:
		return said
	case string:
		of = &schema.Discriminator{PropertyName: said, Mapping: make(map[string]string)}
	default:
		return nil
	}
	for _, one := range s.OneOf {
		component := components[one.Component()]
		if component == nil || component.Properties[of.PropertyName] == nil {
			continue
		}
		if name, isText := component.Properties[of.PropertyName].Const.(string); isText {
			of.Mapping[name] = one.Ref
		}
	}
	return of
}
