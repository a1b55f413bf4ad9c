// Package strictjson is JSON as the bus reads and writes it.
//
// Reading accepts exactly one value and refuses what a lenient reader would guess about: trailing bytes, duplicate
// names, invalid UTF-8, a number out of range, nesting deeper than [MaxDepth]. A name that differs from the field's only
// in case does not fill the field: it is unknown, and ignored. Writing is deterministic; a nil slice is [], a nil map {}.
//
//	var in struct { X, Y int }
//	err := strictjson.Unmarshal([]byte(`{"X":"five"}`), &in)
//	// err is &strictjson.Error{Pointer: "/X", Detail: "expects an integer"}
//
// An [Error] says where the fault is and what was expected, and never repeats the input, so that it may be shown to a
// caller and logged.
package strictjson

import (
	"reflect"

	"github.com/go-json-experiment/json"
	legacy "github.com/go-json-experiment/json/v1"
)

// dialect is what reading and writing have in common: where encoding/json and its successor differ about a Go type, the
// older and better-known one decides.
func dialect() json.Options {
	return json.JoinOptions(
		legacy.FormatDurationAsNano(true),
		legacy.FormatByteArrayAsArray(true),
		legacy.OmitEmptyWithLegacySemantics(true),
		json.Deterministic(true),
	)
}

// Marshal returns v as JSON, the same bytes for equal values. As in encoding/json, omitempty omits zero numbers and
// false, a time.Duration is a number of nanoseconds, a json.Number a number, and a [N]byte an array of numbers. Other
// than there, a nil slice is [] and a nil map {}, and <, > and & are not escaped.
//
// It fails for values that JSON cannot represent: NaN, an infinity, invalid UTF-8, a cycle, a json.Number that is not a
// number. It is safe for concurrent use.
func Marshal(v any) ([]byte, error) {
	if value := reflect.ValueOf(v); value.IsValid() {
		return PlanOf(value.Type()).Marshal(value)
	}
	return []byte("null"), nil
}

// Unmarshal parses the single JSON value in data into the value that v points to. Members of an object without a field
// of exactly that name are ignored; null sets the zero value; fields that data does not mention keep their values. If
// the Go type is any, an integer beyond 2^53, which a float64 would round, becomes an int64, or a *big.Int if that is
// too small; all other numbers become a float64.
//
// Any fault of data is an [*Error]. Any other error means that v is at fault: not a pointer, or of a type that JSON
// cannot fill. After an error v may be partly filled. It is safe for concurrent use.
func Unmarshal(data []byte, v any) error {
	if unmarshalPlain(data, v, (*Plan).UnmarshalPlain) {
		return nil
	}
	text, err := Scan(data)
	if err != nil {
		return err
	}
	return text.Unmarshal(v)
}

// UnmarshalAnyCase is Unmarshal for a caller's own struct: a member also matches a field whose name differs in case, so
// that {"sum":11} fills struct{ Sum int }.
func UnmarshalAnyCase(data []byte, v any) error {
	if unmarshalPlain(data, v, (*Plan).unmarshalAnyCase) {
		return nil
	}
	return unmarshalAnyCase(data, v)
}

// unmarshalAnyCase is UnmarshalAnyCase for what is not plain.
func unmarshalAnyCase(data []byte, v any) error {
	text, err := Scan(data)
	if err != nil {
		return err
	}
	return text.unmarshal(v, json.MatchCaseInsensitiveNames(true), legacy.MatchCaseSensitiveDelimiter(true))
}
