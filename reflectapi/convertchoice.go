package reflectapi

import (
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"
)

// alternatives converts allOf, anyOf, oneOf and not.
func (c *converter) alternatives(in *jsonschema.Schema, out *Schema) {
	out.AllOf, _ = c.choices(in.AllOf)
	var anyNull, oneNull bool
	out.AnyOf, anyNull = c.choices(in.AnyOf)
	out.OneOf, oneNull = c.choices(in.OneOf)
	out.Nullable = anyNull || oneNull
	if in.Not != nil {
		out.Not = c.convert(in.Not, nil)
	}
}

// choices converts a list of schemas without null, for which 3.0.0 has no type.
func (c *converter) choices(schemas []*jsonschema.Schema) (choices []*Schema, null bool) {
	for _, schema := range schemas {
		if isNull(schema) {
			null = true
		} else {
			choices = append(choices, c.convert(schema, nil))
		}
	}
	return choices, null
}

func isNull(schema *jsonschema.Schema) bool {
	return reflect.DeepEqual(schema, &jsonschema.Schema{Type: "null"})
}

// withoutNull splits "this or null", which is what the nullable tag makes of a schema.
func withoutNull(in *jsonschema.Schema) (without *jsonschema.Schema, orNull bool) {
	if in == nil || len(in.OneOf) != 2 || !isNull(in.OneOf[1]) {
		return in, false
	}
	if alone := (&jsonschema.Schema{OneOf: in.OneOf}); !reflect.DeepEqual(in, alone) {
		return in, false
	}
	return in.OneOf[0], true
}

// nullable makes a schema accept null as well. A reference cannot say so itself, and an enum has to list null.
func nullable(s *Schema) *Schema {
	if s.Ref != "" {
		s = &Schema{AllOf: []*Schema{s}}
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, nil) {
		s.Enum = append(s.Enum, nil)
	}
	s.Nullable = true
	return s
}
