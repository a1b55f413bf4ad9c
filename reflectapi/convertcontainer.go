package reflectapi

import (
	"maps"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"
)

func (c *converter) array(in *jsonschema.Schema, out *Schema, t reflect.Type) {
	switch {
	case len(in.PrefixItems) > 0:
		out.Items = anything() // 3.0.0 has a single schema for all elements
	case in.Items != nil || in.Type == "array":
		out.Items = c.convert(in.Items, elementOf(t))
	}
	out.MinItems, out.MaxItems, out.UniqueItems = in.MinItems, in.MaxItems, in.UniqueItems
}

func (c *converter) object(in *jsonschema.Schema, out *Schema, t reflect.Type) {
	out.MinProperties, out.MaxProperties = in.MinProperties, in.MaxProperties
	c.properties(in, out, t)
	for _, name := range in.Required {
		if !slices.Contains(out.Required, name) {
			out.Required = append(out.Required, name)
		}
	}
	switch {
	case len(in.PatternProperties) > 0 && !accepts(in.AdditionalProperties):
		out.AdditionalProperties = c.patternProperties(in.PatternProperties, elementOf(t))
	case in.AdditionalProperties != nil && len(in.PatternProperties) == 0:
		out.AdditionalProperties = c.convert(in.AdditionalProperties, elementOf(t))
	case in.Type == "object" && t != nil && t.Kind() == reflect.Map && len(in.PatternProperties) == 0:
		out.AdditionalProperties = anything() // jsonschema gives no schema for the elements of a map[string]any
	}
}

// accepts reports whether additional members are allowed.
func accepts(additional *jsonschema.Schema) bool {
	return !reflect.DeepEqual(additional, jsonschema.FalseSchema)
}

// patternProperties allows each member to match any of the patterns' schemas: 3.0.0 cannot select a schema by the form
// of a name.
func (c *converter) patternProperties(patterns map[string]*jsonschema.Schema, element reflect.Type) *Schema {
	var choices []*Schema
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		choices = append(choices, c.convert(patterns[pattern], element))
	}
	if len(choices) == 1 {
		return choices[0]
	}
	return &Schema{AnyOf: choices}
}

// properties converts the members of an object, those of a Go struct with the types of its fields. The members of a
// struct are those that JSON shows, whatever jsonschema has found.
func (c *converter) properties(in *jsonschema.Schema, out *Schema, t reflect.Type) {
	if in.Properties == nil {
		return
	}
	fields, complete := fieldsByName(t)
	for pair := in.Properties.Oldest(); pair != nil; pair = pair.Next() {
		field, known := fields[pair.Key]
		if complete && !known {
			continue
		}
		if out.Properties == nil {
			out.Properties = map[string]*Schema{}
		}
		c.path = append(c.path, pair.Key)
		out.Properties[pair.Key] = c.convert(pair.Value, field.Type)
		c.path = c.path[:len(c.path)-1]
		if known {
			c.members = append(c.members, structMember{t, out, field, out.Properties[pair.Key]})
		}
	}
}

// fieldsByName indexes the members of a struct; complete is true if there are no others.
func fieldsByName(t reflect.Type) (fields map[string]jsonField, complete bool) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, false
	}
	fields = map[string]jsonField{}
	for _, f := range jsonFields(t) {
		fields[f.Name] = f
	}
	return fields, !extendsSchema(t)
}

// elementOf returns the element type of a container, or nil.
func elementOf(t reflect.Type) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return t.Elem()
	}
	return nil
}
