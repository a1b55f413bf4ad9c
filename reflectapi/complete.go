package reflectapi

import (
	"fmt"
	"reflect"
	"slices"
)

// mentioned is a default or an example, and where it was found.
type mentioned struct {
	what, where string
	value       any
	schema      *Schema
}

// enumerated is a schema with an enum, and where it was found. values are those of its author: a nullable schema has null, too.
type enumerated struct {
	where  string
	values []any
	schema *Schema
}

// mention returns a default or an example in the form its schema requires. finish validates it once the schemas are
// complete.
func (c *converter) mention(what string, value any, s *Schema) any {
	value = typed(value, s)
	c.mentioned = append(c.mentioned, mentioned{what, c.where(), value, s})
	return value
}

// finish does what needs complete schemas: it validates defaults, examples and enums, and determines which members are
// required.
func (c *converter) finish() {
	if c.fault != nil || len(c.mentioned)+len(c.enums)+len(c.members) == 0 {
		return
	}
	if name, found := circular(c.schemas.components); found {
		c.fault = fmt.Errorf("%s: its schema refers only to itself, so it can never be checked", name)
		return
	}
	rules := newCompiler(c.schemas.components)
	for i := range c.members {
		m := &c.members[i]
		if m.field.optional() || m.field.behindPointer(m.owner) || slices.Contains(m.object.Required, m.field.Name) {
			continue
		}
		if rules.restricts(m.schema, m.field.Type, map[*Schema]bool{}) && !rules.generic(m.schema).fitsZero(m.field.Type) {
			m.object.Required = append(m.object.Required, m.field.Name)
		}
	}
	rules = newCompiler(c.schemas.components) // which now say what is required
	for _, m := range c.mentioned {
		if breach := rules.generic(m.schema).breach(m.value); breach != "" && c.fault == nil {
			c.fault = fmt.Errorf("%sthe %s %v breaks its own schema: it %s", m.where, m.what, m.value, breach)
		}
	}
	for _, e := range c.enums {
		if rule := rules.generic(e.schema); c.fault == nil && !slices.ContainsFunc(e.values, rule.fitsValue) {
			c.fault = fmt.Errorf("%sno value of its enum fits its own schema: change one of them", e.where)
		}
	}
	if rules.fault != nil && c.fault == nil {
		c.fault = rules.fault
	}
	c.schemas.members = append(c.schemas.members, c.members...)
}

// fitsValue reports whether decoded JSON satisfies a rule.
func (r *rule) fitsValue(value any) bool { return r.breach(value) == "" }

// breach returns how a value violates a rule, or "".
func (r *rule) breach(value any) string {
	var found review
	r.check(&found, reflect.ValueOf(value))
	if len(found.found) == 0 {
		return ""
	}
	first := found.found[0]
	if first.Path != "" {
		return "has " + first.Path + ", which " + first.Detail
	}
	return first.Detail
}

// Required reports whether an argument has to be given. t is its type and schema the schema that the collection has
// returned for it. A missing argument has the zero value, which may violate the schema.
func (s *Schemas) Required(t reflect.Type, schema *Schema) bool {
	rules := newCompiler(s.components)
	return rules.restricts(schema, t, map[*Schema]bool{}) && !rules.generic(schema).fitsZero(t)
}
