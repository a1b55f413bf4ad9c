package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
)

// enums are the values of closed types, by the type.
type enums struct {
	mutex  sync.Mutex // protects values
	values map[reflect.Type][]Constant
}

// Constant is one value of a closed type.
type Constant struct {
	Value     any
	Name, Doc string // of the constant in Go, "" for none
}

// closed is filled by variables of generated files, before main, and only read from then on.
var closed enums //nolint:gochecknoglobals // docs/decisions/0008

// AddEnum adds a value to those of a closed type, once: the type has no others, see reflectapi.RegisterEnum. It is safe
// for concurrent use.
func AddEnum(t reflect.Type, value Constant) { closed.add(t, value) }

// add records a value of a type, once.
func (e *enums) add(t reflect.Type, value Constant) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.values == nil {
		e.values = map[reflect.Type][]Constant{}
	}
	if !slices.ContainsFunc(e.values[t], func(other Constant) bool { return other.Value == value.Value }) {
		e.values[t] = append(e.values[t], value)
	}
}

// of returns the values of a closed type, none for any other.
func (e *enums) of(t reflect.Type) []Constant {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return slices.Clone(e.values[t])
}

// enum gives a schema the values that a closed type has in JSON, with their names and descriptions.
func (c *converter) enum(t reflect.Type, out *Schema) {
	if t == nil {
		return
	}
	named := false
	for _, constant := range closed.of(t) {
		value, err := valueOf(constant, out)
		if err != nil {
			c.failf("%v is an enum, and its value %#v cannot be encoded as JSON: %v", t, constant.Value, err)
			return
		}
		out.Enum, out.EnumNames = append(out.Enum, value), append(out.EnumNames, constant.Name)
		named = named || constant.Name != ""
		if constant.Doc != "" {
			if out.EnumDescriptions == nil {
				out.EnumDescriptions = map[string]string{}
			}
			out.EnumDescriptions[fmt.Sprint(value)] = constant.Doc
		}
	}
	if !named {
		out.EnumNames = nil
	}
}

// valueOf returns the JSON of a value, decoded, for a schema of its type.
func valueOf(constant Constant, in *Schema) (decoded any, err error) {
	text, err := jsonv2.Marshal(constant.Value)
	if err == nil {
		err = unmarshalExact(text, &decoded)
	}
	if err != nil {
		return nil, err
	}
	decoded = exact(decoded)
	if number, isWhole := decoded.(int64); isWhole && in.Type == "string" { // of a field with the json option string
		decoded = strconv.FormatInt(number, 10)
	}
	return decoded, nil
}
