package schema

import (
	"reflect"
	"slices"
	"strconv"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
)

// enums are the values of closed types, by the type.
type enums struct {
	mutex  sync.Mutex // protects values
	values map[reflect.Type][]any
}

// closed is filled by variables of generated files, before main, and only read from then on.
var closed enums //nolint:gochecknoglobals // docs/decisions/0008

// AddEnum adds a value to those of a closed type, once: the type has no others, see reflectapi.RegisterEnum. It is safe for concurrent
// use.
func AddEnum(t reflect.Type, value any) { closed.add(t, value) }

// add records a value of a type, once.
func (e *enums) add(t reflect.Type, value any) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.values == nil {
		e.values = map[reflect.Type][]any{}
	}
	if !slices.Contains(e.values[t], value) {
		e.values[t] = append(e.values[t], value)
	}
}

// of returns the values of a closed type, none for any other.
func (e *enums) of(t reflect.Type) []any {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return slices.Clone(e.values[t])
}

// enum returns the values that a closed type has in JSON, in a schema of it.
func (c *converter) enum(t reflect.Type, out *Schema) (values []any) {
	if t == nil {
		return nil
	}
	for _, value := range closed.of(t) {
		text, err := jsonv2.Marshal(value)
		var decoded any
		if err == nil {
			err = unmarshalExact(text, &decoded)
		}
		if err != nil {
			c.failf("%v is an enum, and its value %#v cannot be encoded as JSON: %v", t, value, err)
			return nil
		}
		decoded = exact(decoded)
		if number, isWhole := decoded.(int64); isWhole && out.Type == "string" { // of a field with the json option string
			decoded = strconv.FormatInt(number, 10)
		}
		values = append(values, decoded)
	}
	return values
}
