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

// unsettable returns why the codec cannot read a type that it can write, or "". An embedded pointer to a struct that is not
// exported cannot be set, which the codec reports only when a request has a member of that struct. One whose method reads the
// whole struct is nil when that is called.
func unsettable(t reflect.Type) (reason string) {
	eachType(t, map[reflect.Type]bool{}, func(t reflect.Type) {
		t = base(t) // a pointer has the methods, too
		if pointer := nilReader(t); pointer != nil && reason == "" {
			reason = fmt.Sprintf("cannot be read from JSON: %v is read by the %v that it embeds, which is nil: embed it without the pointer", t, pointer)
		}
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

// nilReader returns the embedded pointer from which a struct has the method that reads it, or nil.
func nilReader(t reflect.Type) reflect.Type {
	method := readingMethod(t)
	if t.Kind() != reflect.Struct || method == "" {
		return nil
	}
	reader, _ := declaredIn(t, method)
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Pointer && f.Type.Elem() == reader {
			return f.Type
		}
	}
	return nil
}

// readingMethod returns the method with which a type reads itself, "" if it has none. The codec prefers them in this order.
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
