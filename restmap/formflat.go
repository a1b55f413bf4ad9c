package restmap

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// maxFlat is the number of flat fields for which the set of seen fields has room.
const maxFlat = 64

// isFlat says whether a value of this type is always one text, parsed by its kind alone.
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

// decodeFlat is the fast path for most forms: a few known names, each given once, with an unescaped text of a flat
// type. It returns false for anything else, valid or not. dst may then be partly filled, and decode has to start again.
// A form that it accepts must give the same result as decode.
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
