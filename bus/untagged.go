package bus

import (
	"encoding"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// untagged is the error for a struct of arguments with a field that has no json tag. It would travel under its Go name,
// "Text", which is hardly that of an argument; and what is not the name of one is ignored, as the contract has it, so that the
// argument would be zero.
//
// Only the arguments themselves are looked at, with what they embed, and no value in them: a type such as struct{ X int } that
// a service takes has the member "X", and a caller does not know which one it takes.
func untagged(arguments reflect.Type) error { return untaggedIn(arguments, nil) }

// untaggedIn is untagged below the types that were met: one may embed itself.
func untaggedIn(arguments reflect.Type, met []reflect.Type) error {
	if arguments == nil || slices.Contains(met, arguments) || writesItself(arguments) {
		return nil
	}
	met = append(met, arguments)
	if arguments.Kind() == reflect.Pointer {
		return untaggedIn(arguments.Elem(), met)
	}
	if arguments.Kind() != reflect.Struct {
		return nil
	}
	for field := range arguments.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name != "" || options == "unknown" || !field.IsExported() && !field.Anonymous:
		case field.Anonymous || options == "inline":
			if err := untaggedIn(field.Type, met); err != nil {
				return err
			}
		default:
			return newError(http.StatusBadRequest, ExecutedNo, nil,
				"field %s of %s has no json tag and would be sent as %q: tag it with the name of the argument, such as `json:%q`",
				field.Name, arguments, field.Name, strings.ToLower(field.Name[:1])+field.Name[1:])
		}
	}
	return nil
}

// writesItself says whether a type has a way of its own to be written as JSON.
func writesItself(written reflect.Type) bool {
	_, streams := written.MethodByName("MarshalJSONTo")
	return streams || written.Implements(reflect.TypeFor[json.Marshaler]()) || written.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
