package reflectapi

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// definitionPrefix is where jsonschema puts its named schemas.
const definitionPrefix = "#/$defs/"

// maxSchemaDepth stops the conversion of a hand-written schema that contains itself.
const maxSchemaDepth = 200

// converter rewrites JSON Schema 2020-12 as OpenAPI 3.0.0. It is total: for any input the result is a valid Schema
// Object, or fault says what is invalid in both. What 3.0.0 cannot express (if, contains, dependentSchemas, …) is left
// out, so that the result accepts more rather than less.
//
// The Go type is passed along because jsonschema drops some of its information: pointers, the width of numbers, and
// which of several embedded fields wins. It is nil where only the schema counts.
type converter struct {
	schemas     *Schemas
	definitions jsonschema.Definitions
	depth       int
	path        []string // properties on the path to the current schema
	fault       error
	mentioned   []mentioned    // values to be validated when the schemas are complete
	enums       []enumerated   // likewise
	members     []structMember // fields that may become required
}

// convert converts one schema and all schemas below it. After a fault it does nothing more: a schema that contains
// itself twice would never end.
func (c *converter) convert(in *jsonschema.Schema, t reflect.Type) *Schema {
	if c.depth >= maxSchemaDepth {
		c.failf("it contains itself endlessly")
	}
	if c.fault != nil {
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
	out := c.convertValue(in, t)
	if null || orNull || t != nil && t.Kind() == reflect.Interface {
		out = nullable(out)
	}
	return out
}

// convertValue converts what a schema says of values other than null.
func (c *converter) convertValue(in *jsonschema.Schema, t reflect.Type) *Schema {
	switch {
	case in == nil || reflect.DeepEqual(in, &jsonschema.Schema{}) || reflect.DeepEqual(in, jsonschema.TrueSchema):
		return anything()
	case reflect.DeepEqual(in, jsonschema.FalseSchema):
		return nothing()
	case in.Ref != "":
		return c.reference(in)
	case in.Type == "null":
		return &Schema{Nullable: true, Enum: []any{nil}}
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
	widths(out, t)
	c.contradictions(out, t)
	c.values(in, out)
	if out.Type == "" && len(out.Enum)+len(out.AllOf)+len(out.AnyOf)+len(out.OneOf) == 0 && out.Not == nil {
		out.Nullable = true // without a type, null is allowed like any other value
	}
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
	name, local := strings.CutPrefix(in.Ref, definitionPrefix)
	definition, known := c.definitions[name]
	if !local || !known {
		return anything() // another document, of which nothing is known
	}
	c.component(name, definition)
	ref := &Schema{Ref: componentPrefix + name}
	around := &Schema{}
	c.annotations(in, around)
	if reflect.DeepEqual(around, &Schema{}) {
		return ref
	}
	around.AllOf = []*Schema{ref}
	return around
}

// component converts a definition, once. It is registered before it is complete, because its own parts may refer to it.
func (c *converter) component(name string, definition *jsonschema.Schema) {
	if c.schemas.components[name] != nil {
		return
	}
	component := &Schema{}
	c.schemas.components[name] = component
	path := c.path
	c.path = []string{name}
	converted := c.convert(definition, c.schemas.types[name])
	*component = *converted
	for i := range c.members {
		if c.members[i].object == converted {
			c.members[i].object = component
		}
	}
	c.path = path
	if component.Ref != "" { // an alias; two of these must not refer to each other
		*component = Schema{AllOf: []*Schema{{Ref: component.Ref}}}
	}
}

// failf records the first fault, and where it is.
func (c *converter) failf(format string, arguments ...any) {
	if c.fault == nil {
		c.fault = errors.New(c.where() + fmt.Sprintf(format, arguments...))
	}
}

// where names the current schema, followed by a colon.
func (c *converter) where() string { return strings.TrimPrefix(strings.Join(c.path, ".")+": ", ": ") }
