package reflectapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// Default is the declared value of an argument that is missing.
type Default struct {
	Index int // of the argument
	Value reflect.Value
}

// Defaults returns the declared defaults of a function's arguments. The error says which one is not of the type of its
// argument, or breaks what is declared beside it.
func (m *Method) Defaults() (defaults []Default, err error) {
	if !slices.ContainsFunc(m.Args, Value.hasDefault) {
		return nil, nil
	}
	in, err := schema.NewSchemas().Of(m.In)
	if err != nil {
		return nil, err
	}
	for i, argument := range m.Args {
		if !argument.hasDefault() {
			continue
		}
		text, err := json.Marshal(in.Properties[argument.Name].Default)
		value := reflect.New(argument.Type)
		if err == nil {
			err = strictjson.Unmarshal(text, value.Interface())
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: the default does not fit %v: %w", ArgDirective, argument.Name, argument.Type, err)
		}
		defaults = append(defaults, Default{i, value.Elem()})
	}
	return defaults, nil
}

// Constraints returns the constraints of a function's arguments, see [schema.ConstraintsOf].
func (m *Method) Constraints() (*schema.Constraints, error) {
	return schema.ConstraintsOfArguments(m.In)
}

// MayBeMissing reports whether directives say that an argument is optional, or has a default.
func (v Value) MayBeMissing() bool { return v.Optional || v.hasDefault() }

// hasDefault reports whether directives declare a default.
func (v Value) hasDefault() bool { return schema.HasDefault(v.Tag) }

// IsOmittable reports whether a caller may leave the argument out, although a zero value that is sent is refused.
// Generated clients leave a zero out then.
func (m *Method) IsOmittable(argument int) bool {
	value := m.Args[argument]
	if !value.MayBeMissing() {
		return false
	}
	schemas := schema.NewSchemas()
	in, err := schemas.Of(m.In)
	return err == nil && schemas.Required(value.Type, in.Properties[value.Name])
}
