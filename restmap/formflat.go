package restmap

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// maxFlat is how many flat fields of a form can be told apart in the set of those seen.
const maxFlat = 64

// isFlat tells a type whose values are always one text, which its kind alone says how to read.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return t != reflect.TypeFor[time.Duration]() && t != reflect.TypeFor[json.Number]() && !readsText(t) && !readsJSON(t)
	default:
		return false
	}
}

// decodeFlat is the short way for what most forms are: a few names that are known, each there once, with a text of a flat
// type that is not escaped. It returns false for all else, at fault or not. Then dst may be partly filled, and decode has
// to read it all again: what it takes to be right has to be what decode makes of it.
func (f *form) decodeFlat(dst reflect.Value, text string) bool {
	if strings.ContainsAny(text, "%+;") || !utf8.ValidString(text) {
		return false
	}
	var seen uint64
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		field, known := f.fields[name]
		if !known || !field.flat || value == "" || seen&field.bit != 0 {
			return false
		}
		seen |= field.bit
		if setKind(dst.FieldByIndex(field.index), value) != nil {
			return false
		}
	}
	return true
}
