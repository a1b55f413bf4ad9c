package schema

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/busline/busline/reflectapi/strictjson"
)

// Constraints are the conditions that the jsonschema tags of a type set for its values, as in its schema. They are
// immutable and is safe for concurrent use.
type Constraints struct {
	values *rule // nil if only the JSON can be checked
	sent   *rule
}

// ConstraintsOf returns the constraints of a type, nil if there are none. A tag that is invalid, or that could not be
// enforced, is an error that names the type, the field and the remedy.
func ConstraintsOf(t reflect.Type) (*Constraints, error) { return constraintsOf(t, nil) }

// ConstraintsOfArguments is [ConstraintsOf] for the struct of a method's arguments, in which defaults are applied.
func ConstraintsOfArguments(t reflect.Type) (*Constraints, error) { return constraintsOf(t, t) }

// constraintsOf returns the constraints of a type. Defaults are applied in one struct, nil for none, and
// refused in others.
func constraintsOf(t, applied reflect.Type) (*Constraints, error) {
	if !isConstrained(t, map[reflect.Type]bool{}) {
		return nil, nil //nolint:nilnil // no constraints are fine, and what most types have
	}
	schemas := NewSchemas()
	schema, err := schemas.Of(t)
	if err != nil {
		return nil, err
	}
	if err := schemas.checkDefaults(applied); err != nil {
		return nil, err
	}
	c := newCompiler(schemas.components)
	values, sent := c.typed(schema, t), c.generic(schema)
	switch {
	case c.err != nil:
		return nil, fmt.Errorf("schema of %v: %w", t, c.err)
	case c.presence:
		return &Constraints{sent: sent}, nil
	}
	if values = values.pruned(); values == nil {
		return nil, nil //nolint:nilnil // tags that only describe
	}
	return &Constraints{values: values, sent: sent}, nil
}

// CheckTags checks the jsonschema tags in a type. An error names the type, the field and the remedy.
func CheckTags(t reflect.Type) error {
	if !isConstrained(t, map[reflect.Type]bool{}) {
		return nil
	}
	_, err := NewSchemas().Of(t)
	return err
}

// Comparable reports whether a Go value is enough to check the constraints, see [Constraints.Check]. It is not if it
// matters whether a member was present, or if a type has its own unmarshalling.
func (c *Constraints) Comparable() bool { return c.values != nil }

// Check returns how a value of the type violates the constraints, at most 100 violations. It is for constraints that
// are Comparable. A member that was not given counts as its zero value.
func (c *Constraints) Check(v reflect.Value) []Violation {
	var few [8]place // enough for most values, and stays on the stack
	found := validation{at: few[:0]}
	c.values.check(&found, v)
	return found.found
}

// CheckJSON is like Check, but takes decoded JSON: a map[string]any, a float64 and so on.
func (c *Constraints) CheckJSON(value any) []Violation {
	var found validation
	c.sent.check(&found, reflect.ValueOf(value))
	return found.found
}

// isConstrained reports whether a type contains a jsonschema tag, a closed type, or a type that provides its own
// schema, or tries to.
func isConstrained(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if describesItself(t) || ignoredMethods(t) != nil || len(closed.of(t)) > 0 || strictjson.UnionOf(t) != nil ||
		isDescribed(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return isConstrained(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if _, tagged := f.Tag.Lookup("jsonschema"); tagged || isConstrained(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// checkDefaults finds defaults that nothing applies, in all structs but one: a missing member has the zero value, so
// the document would be wrong. Behind a pointer it is allowed, because the method can see that the member is missing
// and apply the default.
func (s *Schemas) checkDefaults(applied reflect.Type) error {
	for i := range s.members {
		m := &s.members[i]
		if m.schema.Default == nil || m.field.Type.Kind() == reflect.Pointer || m.owner == applied {
			continue
		}
		zero, known := zeroJSON(m.field.Type)
		if known && !sameJSON(zero, m.schema.Default) {
			text, err := json.Marshal(zero)
			if err != nil {
				return err
			}
			return fmt.Errorf("field %v.%s: default=%v is not applied, because a missing value is %s: remove it from the tag, "+
				"or make the field a pointer and set the default in code when it is nil",
				m.owner, m.field.goName, m.schema.Default, text)
		}
	}
	return nil
}
