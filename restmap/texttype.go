package restmap

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// IsText reports whether an argument of type t is written as text in a query, or by repeating its name for a list of texts, and
// not as JSON.
func IsText(t reflect.Type) bool { return isText(t) || isTextList(t) }

// isText reports whether a value of type t is written as plain text in a path, a query
// or a form: 5, true, Tea, 3s, 2024-05-06T07:08:09Z. Every other type is written as JSON.
func isText(t reflect.Type) bool {
	t = pointed(t)
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return true
	default:
		return readsText(t) || isBytes(t)
	}
}

// isTextList reports whether a value of type t is written by repeating its name, once
// for each element: tag=a&tag=b.
func isTextList(t reflect.Type) bool {
	t = pointed(t)
	return t.Kind() == reflect.Slice && !isText(t) && !readsJSON(t) && isText(t.Elem())
}

// pointed returns the type behind any number of pointers.
func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func readsJSON(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// isBytes reports whether a type is written in base64.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[byte]() && !readsJSON(t)
}
