package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/busline/busline/reflectapi/strictjson"
)

// definitionPrefix is where jsonschema puts its named schemas.
const definitionPrefix = "#/$defs/"

// maxSchemaDepth stops the conversion of a hand-written schema that contains itself.
const maxSchemaDepth = 200

// converter rewrites JSON Schema 2020-12 as OpenAPI 3.0.0. It is total: for any input the result is a valid Schema
// Object, or err says what is invalid in both. What 3.0.0 cannot express (if, contains, dependentSchemas, …) is left
// out, so that the result accepts more rather than less.
//
// The Go type is passed along because jsonschema drops some of its information: pointers, the width of numbers, and
// which of several embedded fields wins. It is nil where only the schema counts.
type converter struct {
	schemas     *Schemas
	definitions jsonschema.Definitions
	own         string            // the component whose own definitions a reference may mean, "" for none
	owners      map[string]string // the component to whose own definitions one belongs
	depth       int
	path        []string // properties on the path to the current schema
	err         error
	mentioned   []mentioned    // values to be validated when the schemas are complete
	enums       []enumerated   // likewise
	members     []structMember // fields that may become required
	untyped     []*Schema      // nullable schemas without a type, until typeNullable
}

// convert converts one schema and all schemas below it. After an error it does nothing more: a schema that contains
// itself twice would never end.
func (c *converter) convert(in *jsonschema.Schema, t reflect.Type) *Schema {
	if c.depth >= maxSchemaDepth {
		c.failf("it contains itself endlessly")
	}
	if c.err != nil {
		return anything()
	}
	c.depth++
	defer func() { c.depth-- }()

	null := false
	for t != nil && t.Kind() == reflect.Pointer {
		t, null = t.Elem(), true
	}
	if t != nil && replacesSchema(t) {
		t = nil
	}
	in, orNull := withoutNull(in)
	union := strictjson.UnionOf(t)
	var out *Schema
	if union != nil {
		out = c.annotated(in, c.union(union))
	} else {
		out = c.convertValue(in, t)
	}
	if null || orNull || t != nil && t.Kind() == reflect.Interface && union == nil {
		out = c.nullable(out)
	}
	return out
}

// convertValue converts what a schema says of values other than null.
func (c *converter) convertValue(in *jsonschema.Schema, t reflect.Type) *Schema {
	switch {
	case in == nil || reflect.DeepEqual(in, &jsonschema.Schema{}) || reflect.DeepEqual(in, jsonschema.TrueSchema):
		out := anything()
		c.enum(t, out) // of a type that writes its own JSON
		return out
	case reflect.DeepEqual(in, jsonschema.FalseSchema):
		return nothing()
	case in.Ref != "":
		return c.reference(in)
	case in.Type == "null":
		return onlyNull()
	}
	out := &Schema{Type: in.Type}
	if !slices.Contains([]string{"", "string", "number", "integer", "boolean", "array", "object"}, in.Type) {
		c.failf("the type %q does not exist in JSON Schema", in.Type)
	}
	c.annotations(in, out)
	if t == reflect.TypeFor[time.Duration]() {
		out.Description = cmp.Or(out.Description, "nanoseconds")
	}
	c.alternatives(in, out)
	c.array(in, out, t)
	c.object(in, out, t)
	c.limits(in, out)
	c.checkHeld(in, out, t)
	widths(out, t)
	c.checkSatisfiable(out, t)
	c.values(in, out, t)
	return out
}

// annotations copies the keywords that describe values without restricting them.
func (c *converter) annotations(in *jsonschema.Schema, out *Schema) {
	out.Title, out.Description, out.Deprecated = in.Title, in.Description, in.Deprecated
	out.ReadOnly, out.WriteOnly = in.ReadOnly, in.WriteOnly
	if in.ReadOnly && in.WriteOnly {
		c.failf("it is both readOnly and writeOnly")
	}
}

// reference returns a reference to a component. 3.0.0 ignores everything beside a $ref, so other keywords are put
// around it.
func (c *converter) reference(in *jsonschema.Schema) *Schema {
	name, local := localDefinition(in.Ref)
	if !local {
		return anything()
	}
	if owned := c.ownedName(name); c.owners[owned] == c.own && c.own != "" {
		name = owned
	}
	definition, known := c.definitions[name]
	if !known {
		c.failf("the reference %s is to a definition that is not there: add it to Definitions", in.Ref)
		return anything()
	}
	c.component(name, definition)
	return c.annotated(in, &Schema{Ref: componentPrefix + name})
}

// annotated puts what describes values around a reference.
func (c *converter) annotated(in *jsonschema.Schema, ref *Schema) *Schema {
	around := &Schema{}
	if in != nil {
		c.annotations(in, around)
	}
	if reflect.DeepEqual(around, &Schema{}) {
		return ref
	}
	around.AllOf = []*Schema{ref}
	return around
}

// localDefinition returns the name of the definition to which a reference is, a JSON Pointer in the fragment of a URI
// (RFC 6901, sections 3 and 6). local is false for one to another document or to a part of a definition, of which
// nothing is known.
func localDefinition(ref string) (name string, local bool) {
	token, local := strings.CutPrefix(ref, definitionPrefix)
	name, err := url.PathUnescape(token)
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name), local && err == nil && !strings.Contains(token, "/")
}

// component converts a definition, once. It is registered before it is complete, because its own parts may refer to it.
func (c *converter) component(name string, definition *jsonschema.Schema) {
	if c.schemas.components[name] != nil {
		return
	}
	component := &Schema{}
	c.schemas.components[name] = component
	path, own := c.path, c.own
	c.path, c.own = []string{name}, c.owners[name]
	if definition != nil && len(definition.Definitions) > 0 {
		c.own = name
		c.adopt(definition.Definitions)
	}
	converted := c.convert(definition, c.schemas.types[name])
	*component = *converted
	for i := range c.members {
		if c.members[i].object == converted {
			c.members[i].object = component
		}
	}
	if i := slices.Index(c.untyped, converted); i >= 0 {
		c.untyped[i] = component
	}
	c.path, c.own = path, own
	if component.Ref != "" { // an alias; two of these must not refer to each other
		*component = Schema{AllOf: []*Schema{{Ref: component.Ref}}}
	}
}

// adopt adds the own definitions of the current component.
func (c *converter) adopt(definitions jsonschema.Definitions) {
	for local, definition := range definitions {
		name := c.ownedName(local)
		if c.owners == nil {
			c.owners = map[string]string{}
		}
		c.definitions[name], c.owners[name] = definition, c.own
	}
}

// ownedName returns the name of a component for an own definition of the current one.
func (c *converter) ownedName(local string) string { return c.own + "." + componentText(local) }

// failf records the first error, and where it is.
func (c *converter) failf(format string, arguments ...any) {
	if c.err == nil {
		c.err = errors.New(c.where() + fmt.Sprintf(format, arguments...))
	}
}

// where names the current schema, followed by a colon.
func (c *converter) where() string { return strings.TrimPrefix(strings.Join(c.path, ".")+": ", ": ") }

// alternatives converts allOf, anyOf, oneOf and not.
func (c *converter) alternatives(in *jsonschema.Schema, out *Schema) {
	out.AllOf, out.AnyOf, out.OneOf = c.choices(in.AllOf), c.choices(in.AnyOf), c.choices(in.OneOf)
	if in.Not != nil {
		out.Not = c.convert(in.Not, nil)
	}
}

func (c *converter) choices(schemas []*jsonschema.Schema) (choices []*Schema) {
	for _, schema := range schemas {
		choices = append(choices, c.convert(schema, nil))
	}
	return choices
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

// nullable makes a schema accept null as well. A reference cannot say so itself, an enum has to list null, and only a
// schema with a type can be nullable.
func (c *converter) nullable(s *Schema) *Schema {
	if s.Ref != "" {
		s = &Schema{AllOf: []*Schema{s}}
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, nil) {
		s.Enum = append(s.Enum, nil)
		if s.EnumNames != nil {
			s.EnumNames = append(s.EnumNames, "Null")
		}
	}
	s.Nullable = true
	if s.Type == "" {
		c.untyped = append(c.untyped, s)
	}
	return s
}

// typeNullable gives the nullable schemas without a type that of the component to which they refer, except for arrays,
// which would need items. Others allow null already, or get it as an alternative.
func (c *converter) typeNullable() {
	for _, s := range c.untyped {
		s.Nullable = false
		kind := c.schemas.typeOf(s)
		switch {
		case s.AllowsNull(c.schemas.components):
		case s.Wrapped() != nil && kind != "" && kind != "array":
			s.Type, s.Nullable = kind, true
		case len(s.OneOf) > 0 && len(s.AnyOf)+len(s.AllOf) == 0 && s.Not == nil:
			s.OneOf = append(s.OneOf, onlyNull())
		default:
			inner := *s
			*s = Schema{AnyOf: []*Schema{&inner, onlyNull()}}
		}
	}
	c.untyped = nil
}

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
		out.AdditionalProperties = c.convert(nil, t.Elem()) // jsonschema gives no schema for interfaces in a map
	}
	if t != nil && t.Kind() == reflect.Map && out.Properties == nil && out.AdditionalProperties != nil {
		c.keys(out, t.Key())
	}
}

// keys lists the members of a map whose keys are those of a closed type.
func (c *converter) keys(out *Schema, key reflect.Type) {
	names := &Schema{Type: "string"}
	c.enum(key, names)
	if names.Enum == nil {
		return
	}
	member := out.AdditionalProperties
	out.Properties, out.AdditionalProperties = map[string]*Schema{}, nothing()
	for i, name := range names.Enum {
		described := member
		if about := names.EnumDescriptions[fmt.Sprint(name)]; about != "" || len(names.EnumNames) > 0 {
			described = &Schema{AllOf: []*Schema{member}, Description: about}
			if len(names.EnumNames) > 0 {
				described.Title = names.EnumNames[i]
			}
		}
		out.Properties[fmt.Sprint(name)] = described
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
		key := pair.Key
		if key == dash {
			key = "-"
		}
		field, known := fields[key]
		if complete && !known {
			continue
		}
		if out.Properties == nil {
			out.Properties = map[string]*Schema{}
		}
		c.path = append(c.path, key)
		property := c.convert(pair.Value, field.Type)
		if field.readOnly && property.Ref != "" {
			property = &Schema{AllOf: []*Schema{property}}
		}
		property.ReadOnly = property.ReadOnly || field.readOnly
		out.Properties[key] = property
		c.path = c.path[:len(c.path)-1]
		if known {
			c.members = append(c.members, structMember{t, out, field, property})
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
