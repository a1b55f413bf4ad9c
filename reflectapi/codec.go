package reflectapi

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
)

// refusedByCodec returns why the JSON codec refuses a struct, or "": a json tag that cannot be parsed, a tag on an
// unexported field, an embedded type that is not a struct. The codec itself reports that only when the first value is
// encoded or decoded, and then for every value.
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

// unsettable returns why the codec cannot read a type that it can write, or "": an embedded pointer to a struct that is not
// exported cannot be set. The codec reports that only when a request has a member of that struct.
func unsettable(t reflect.Type) (reason string) {
	eachType(t, map[reflect.Type]bool{}, func(t reflect.Type) {
		if t.Kind() != reflect.Struct || isClosed(t) || readsItself(t) {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if _, promotes := readField(jsonField{Type: t}, i); promotes && !f.IsExported() && f.Type.Kind() == reflect.Pointer && reason == "" {
				reason = fmt.Sprintf("cannot be read from JSON: %v embeds %v, a pointer to a struct that is not exported: embed it without the pointer, or export it", t, f.Type)
			}
		}
	})
	return reason
}

// readsItself reports whether a type has its own unmarshalling, which may not accept an empty object.
func readsItself(t reflect.Type) bool {
	return implements[json.Unmarshaler](t) || implements[jsonv2.UnmarshalerFrom](t) || implements[encoding.TextUnmarshaler](t)
}

// mayBeQuoted reports whether the codec accepts the json option string on a field of this type.
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
