package reflectapi

import (
	"reflect"
	"slices"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
)

// RegisterEnum closes a named type: its schema lists these values as an enum, and arguments and members of the type are held to
// it, as by an enum in a jsonschema tag. A tag at a field may have an enum of its own instead. apigen writes the call, with all
// constants of the type, into the package of the type:
//
//	//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Colour
//
// A type that writes itself as text or JSON has what it writes for the values. A further call adds values. The result has no
// meaning, and RegisterEnum never fails; for a type of the language, such as string, it does nothing. It is called while packages
// are initialised, and is safe for concurrent use.
func RegisterEnum[T ~string | ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](values ...T) struct{} {
	if t := reflect.TypeFor[T](); t.PkgPath() != "" {
		for _, value := range values {
			registered.addEnum(t, value)
		}
	}
	return struct{}{}
}

// addEnum records a value of a type, once.
func (r *registry) addEnum(t reflect.Type, value any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.enums == nil {
		r.enums = map[reflect.Type][]any{}
	}
	if !slices.Contains(r.enums[t], value) {
		r.enums[t] = append(r.enums[t], value)
	}
}

// enumOf returns the values of a closed type, none for any other.
func (r *registry) enumOf(t reflect.Type) []any {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.enums[t])
}

// enum returns the values that a closed type has in JSON, in a schema of it.
func (c *converter) enum(t reflect.Type, out *Schema) (values []any) {
	if t == nil {
		return nil
	}
	for _, value := range registered.enumOf(t) {
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
