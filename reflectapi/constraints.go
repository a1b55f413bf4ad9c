package reflectapi

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Constraints are what the jsonschema tags of a type ask of its values, as its schema says it. They do not change once
// made and may be used by any number of goroutines.
type Constraints struct {
	values *rule // nil when only JSON tells
	sent   *rule
}

// ConstraintsOf works out what a type asks of its values; nil when there is nothing. What makes no sense, or could not
// be held, is an error that names the type, the field and the remedy.
func ConstraintsOf(t reflect.Type) (*Constraints, error) {
	if !saysMore(t, map[reflect.Type]bool{}) {
		return nil, nil //nolint:nilnil // no constraints are fine, and what most types have
	}
	schemas := NewSchemas()
	schema, err := schemas.Of(t)
	if err != nil {
		return nil, err
	}
	if err := schemas.untrueDefaults(); err != nil {
		return nil, err
	}
	c := newCompiler(schemas.components)
	values, sent := c.typed(schema, t), c.generic(schema)
	switch {
	case c.fault != nil:
		return nil, fmt.Errorf("schema of %v: %w", t, c.fault)
	case c.presence:
		return &Constraints{sent: sent}, nil
	}
	if values = values.pruned(); values == nil {
		return nil, nil //nolint:nilnil // tags that only describe
	}
	return &Constraints{values: values, sent: sent}, nil
}

// CheckTags finds what is wrong with the jsonschema tags in a type, as an error that names the type, the field and the
// remedy.
func CheckTags(t reflect.Type) error {
	if !saysMore(t, map[reflect.Type]bool{}) {
		return nil
	}
	_, err := NewSchemas().Of(t)
	return err
}

// Comparable says whether a Go value tells all, see [Constraints.Check]. It does not where it matters whether a member
// was there, or how a type reads its JSON.
func (c *Constraints) Comparable() bool { return c.values != nil }

// Check returns how a value of the type breaks the constraints, 100 violations at most. It is for constraints that are
// Comparable. What was not given counts as the zero value.
func (c *Constraints) Check(v reflect.Value) []Violation {
	var few [8]place // most look no deeper, and these stay on the stack
	found := review{at: few[:0]}
	c.values.check(&found, v)
	return found.found
}

// CheckJSON is Check for the JSON of a value, read as any: a map[string]any, a float64 and so on.
func (c *Constraints) CheckJSON(value any) []Violation {
	var found review
	c.sent.check(&found, reflect.ValueOf(value))
	return found.found
}

// saysMore tells a type with something in it that has a jsonschema tag, or gives its schema itself.
func saysMore(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if describesItself(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return saysMore(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if _, tagged := f.Tag.Lookup("jsonschema"); tagged || saysMore(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// untrueDefaults finds defaults that nothing sets: what is missing is the zero value, and a document that says
// otherwise lies. Behind a pointer a method can tell, and do it.
func (s *Schemas) untrueDefaults() error {
	for i := range s.members {
		m := &s.members[i]
		if m.schema.Default == nil || m.field.Type.Kind() == reflect.Pointer {
			continue
		}
		zero, known := zeroJSON(m.field.Type)
		if known && !sameJSON(zero, m.schema.Default) {
			text, err := json.Marshal(zero)
			if err != nil {
				return err
			}
			return fmt.Errorf("field %v.%s: default=%v is not what a missing value is, which is %s: take it out of the tag, or make the field a pointer and set the default where it is nil",
				m.owner, m.field.goName, m.schema.Default, text)
		}
	}
	return nil
}
