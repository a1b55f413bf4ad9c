package cli

import (
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap/openapi"
)

// The types in OpenAPI. A schema without one allows any value.
const (
	typeInteger = "integer"
	typeNumber  = "number"
	typeBoolean = "boolean"
	typeString  = "string"
	typeArray   = "array"
	typeObject  = "object"
)

const componentPrefix = "#/components/schemas/"

// schemas reads the schemas of one document.
type schemas struct{ document *openapi.Document }

// resolve follows references, including those wrapped because they are nullable. It never returns nil.
func (d schemas) resolve(schema *reflectapi.Schema) *reflectapi.Schema {
	for range 16 { // ends a reference that leads to itself
		switch {
		case schema == nil:
			return &reflectapi.Schema{}
		case schema.Ref != "":
			schema = d.document.Components.Schemas[strings.TrimPrefix(schema.Ref, componentPrefix)]
		case schema.Type == "" && len(schema.AllOf) == 1:
			schema = schema.AllOf[0]
		default:
			return schema
		}
	}
	return &reflectapi.Schema{}
}

// nullable reports whether null is allowed.
func (d schemas) nullable(schema *reflectapi.Schema) bool {
	return schema == nil || schema.Nullable || d.resolve(schema).Nullable || d.kind(schema) == ""
}

// kind returns the type of a schema, "" for any.
func (d schemas) kind(schema *reflectapi.Schema) string {
	resolved := d.resolve(schema)
	if resolved.Type == "" && len(resolved.Properties) > 0 {
		return typeObject
	}
	return resolved.Type
}

// text names the type of a schema for people: "integer", "array of string", "Point", "string (date-time)".
func (d schemas) text(schema *reflectapi.Schema) string {
	resolved := d.resolve(schema)
	switch d.kind(schema) {
	case "":
		return "any"
	case typeArray:
		return "array of " + d.text(resolved.Items)
	case typeObject:
		switch {
		case d.name(schema) != "":
			return d.name(schema)
		case isMap(resolved):
			return "map of " + d.text(resolved.AdditionalProperties)
		default:
			return typeObject
		}
	case typeString:
		if resolved.Format != "" {
			return typeString + " (" + cleanLine(resolved.Format) + ")"
		}
	}
	return resolved.Type
}

// name returns the name of the component to which a schema refers, "" if it is no reference.
func (d schemas) name(schema *reflectapi.Schema) string {
	for schema != nil && schema.Ref == "" && schema.Type == "" && len(schema.AllOf) == 1 {
		schema = schema.AllOf[0]
	}
	if schema == nil {
		return ""
	}
	return cleanLine(strings.TrimPrefix(schema.Ref, componentPrefix))
}

// description returns the description of a value, or else of its type.
func (d schemas) description(schema *reflectapi.Schema) string {
	if schema != nil && schema.Description != "" {
		return schema.Description
	}
	return d.resolve(schema).Description
}

// isMap reports whether an object takes members of any name: it has a type for them, or describes no member at all.
func isMap(resolved *reflectapi.Schema) bool {
	if others := resolved.AdditionalProperties; others != nil {
		return others.Not == nil
	}
	return resolved.Type == typeObject && len(resolved.Properties) == 0
}

// property returns the schema of a member of an object; false if it has no such member.
func (d schemas) property(object *reflectapi.Schema, name string) (*reflectapi.Schema, bool) {
	resolved := d.resolve(object)
	if found := resolved.Properties[name]; found != nil {
		return found, true
	}
	if isMap(resolved) {
		return resolved.AdditionalProperties, true // nil for any value
	}
	return nil, d.kind(object) == ""
}

// propertyNames returns the names of an object's members, sorted.
func (d schemas) propertyNames(object *reflectapi.Schema) (names []string) {
	for name := range d.resolve(object).Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
