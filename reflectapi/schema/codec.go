package schema

import (
	"encoding"
	"encoding/json"
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
)

// WritesJSON reports whether a type marshals itself to JSON, even if only its pointer has the method: the codec takes
// the address.
func WritesJSON(t reflect.Type) bool {
	return implements[json.Marshaler](t) || implements[jsonv2.MarshalerTo](t)
}

// WritesText reports whether a type marshals itself to text, and so becomes a JSON string, unless it marshals itself to
// JSON.
func WritesText(t reflect.Type) bool {
	return implements[encoding.TextMarshaler](t) || implements[encoding.TextAppender](t)
}

// implements reports whether t or *t has the methods of I. It is false for interface types: the value in them decides.
func implements[I any](t reflect.Type) bool {
	iface := reflect.TypeFor[I]()
	return t.Kind() != reflect.Interface && (t.Implements(iface) || reflect.PointerTo(t).Implements(iface))
}

// readingMethod returns the method with which a type reads itself, "" if it has none. The codec prefers them in this
// order.
func readingMethod(t reflect.Type) string {
	switch {
	case implements[jsonv2.UnmarshalerFrom](t):
		return "UnmarshalJSONFrom"
	case implements[json.Unmarshaler](t):
		return "UnmarshalJSON"
	case implements[encoding.TextUnmarshaler](t):
		return "UnmarshalText"
	}
	return ""
}

// readsItself reports whether a type has its own unmarshalling, which may not accept an empty object.
func readsItself(t reflect.Type) bool { return readingMethod(t) != "" }

// mayBeQuoted reports whether the json option string makes a JSON string of a field of this type.
func mayBeQuoted(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer && !pointsToItself(t) {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64,
		reflect.Bool, reflect.String:
		return true
	}
	return false
}

// pointsToItself reports whether a type is like "type T *T", which is legal Go but makes any walk over types recurse
// without end.
func pointsToItself(t reflect.Type) bool {
	met := map[reflect.Type]bool{}
	for ; t.Kind() == reflect.Pointer; t = t.Elem() {
		if met[t] {
			return true
		}
		met[t] = true
	}
	return false
}
