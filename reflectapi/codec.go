package reflectapi

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
)

// refusedByCodec tells what the codec has against a struct, "" when nothing: a json tag that it cannot read, one on a field
// that is not exported, an embedded type that is no struct. The codec itself says so when the first value comes along, and
// then of every value.
func refusedByCodec(t reflect.Type) string {
	if readsItself(t) {
		return ""
	}
	err := jsonv2.Unmarshal([]byte("{}"), reflect.New(t).Interface())
	if fault, ok := errors.AsType[*jsonv2.SemanticError](err); ok && fault.Err != nil {
		return fmt.Sprintf("%v is refused by the JSON codec: %v", t, fault.Err)
	}
	return ""
}

// readsItself tells a type that has code of its own to read it, which an empty object may not suit.
func readsItself(t reflect.Type) bool {
	return implements[json.Unmarshaler](t) || implements[jsonv2.UnmarshalerFrom](t) || implements[encoding.TextUnmarshaler](t)
}

// mayBeQuoted tells whether the codec takes the json option string on a field of a type.
func mayBeQuoted(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer && !pointsToItself(t) {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return true
	}
	return writesJSON(t) || writesText(t)
}
