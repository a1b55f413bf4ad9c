// Package strictjson is JSON as the bus reads and writes it.
//
// Reading takes exactly one value and refuses what a lenient reader would guess
// about: bytes after the value, a duplicate name, invalid UTF-8, a number that does
// not fit, nesting deeper than [MaxDepth]. A name that differs from the field's only
// in case does not fill the field: it is unknown, and ignored. Writing is
// deterministic, and a nil slice is [], a nil map {}.
//
//	var in struct { X, Y int }
//	err := strictjson.Unmarshal([]byte(`{"X":"five"}`), &in)
//	// err is &strictjson.Error{Pointer: "/X", Detail: "expects an integer"}
//
// An [Error] says where and what was expected, and never repeats the input, so it may
// be shown to a caller and logged.
package strictjson

import (
	"reflect"

	"github.com/go-json-experiment/json"
	legacy "github.com/go-json-experiment/json/v1"
)

// dialect is what both directions have in common: where encoding/json and its
// successor differ about a Go type, the one that people know decides.
func dialect() json.Options {
	return json.JoinOptions(
		legacy.FormatDurationAsNano(true),
		legacy.FormatByteArrayAsArray(true),
		legacy.OmitEmptyWithLegacySemantics(true),
		json.Deterministic(true),
	)
}

// Marshal returns v as JSON, the same bytes for equal values. As in encoding/json,
// omitempty leaves out zero numbers and false, a time.Duration is its nanoseconds,
// a json.Number a number, and a [N]byte an array of numbers. Unlike there, a nil slice is [] and a nil map {},
// and <, > and & stand for themselves.
//
// It fails for what JSON cannot hold: NaN, an infinity, invalid UTF-8, a cycle, a json.Number
// that is none.
// It may be called from several goroutines at once.
func Marshal(v any) ([]byte, error) {
	if value := reflect.ValueOf(v); value.IsValid() {
		return PlanOf(value.Type()).Marshal(value)
	}
	return []byte("null"), nil
}

// Unmarshal reads the one JSON value that data holds into the value that v points to.
// Members of an object without a field of that exact name are ignored; null sets the
// zero value; what data does not mention keeps its value. Where the Go type is any, an integer
// beyond 2^53, which a float64 would round, becomes an int64, or a *big.Int when that is too
// small; all other numbers are a float64.
//
// Whatever is wrong with data is an [*Error]. Any other error means that v is at fault:
// no pointer, or of a type that JSON cannot fill. After an error v may be partly filled.
// It may be called from several goroutines at once.
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

// UnmarshalAnyCase is Unmarshal for a caller's own struct: a member also fits a field
// whose name differs in case, so that {"sum":11} fits struct{ Sum int }.
func UnmarshalAnyCase(data []byte, v any) error {
	if unmarshalPlain(data, v, (*Plan).unmarshalAnyCase) {
		return nil
	}
	return unmarshalAnyCase(data, v)
}

// unmarshalAnyCase is UnmarshalAnyCase for what no plan reads.
func unmarshalAnyCase(data []byte, v any) error {
	text, err := Scan(data)
	if err != nil {
		return err
	}
	return text.unmarshal(v, json.MatchCaseInsensitiveNames(true), legacy.MatchCaseSensitiveDelimiter(true))
}
