// Package strictjson is JSON as the bus reads and writes it.
//
// Reading accepts exactly one value and refuses what a lenient reader would guess about: trailing bytes, duplicate
// names, invalid UTF-8, a number out of range, nesting deeper than [MaxDepth]. A name that differs from the field's
// only in case does not fill the field: it is unknown, and ignored. Writing is deterministic; a nil slice is [], a nil
// map {}.
//
//	var in struct { X, Y int }
//	err := strictjson.Unmarshal([]byte(`{"X":"five"}`), &in)
//	// err is &strictjson.Error{Pointer: "/X", Detail: "expects an integer"}
//
// An [Error] says where the error is and what was expected, and never repeats the input, so that it may be shown to a
// caller and logged.
package strictjson

import (
	"errors"
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

// anyCase are the options of [UnmarshalAnyCase].
var anyCase = json.JoinOptions(json.MatchCaseInsensitiveNames(true), legacy.MatchCaseSensitiveDelimiter(true)) //nolint:gochecknoglobals // a constant

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
// the Go type is any, an integer of 2^53 or more, which a float64 may have rounded, becomes an int64, or a *big.Int if
// that is too small; all other numbers become a float64. If it is an integer, 1.0 and 1e3 are integers, too, unless a
// json.Number is beside it, which keeps its notation.
//
// Any error in data is an [*Error]. Any other error means that v is wrong: not a pointer, or of a type that JSON
// cannot fill. After an error v may be partly filled. It is safe for concurrent use.
func Unmarshal(data []byte, v any) error { return unmarshal(data, v, nil) }

// UnmarshalAnyCase is Unmarshal for a caller's own struct: a member also matches a field whose name differs in case, so
// that {"sum":11} fills struct{ Sum int }.
func UnmarshalAnyCase(data []byte, v any) error { return unmarshal(data, v, anyCase) }

func foldsNames(options json.Options) bool {
	folds, _ := json.GetOption(options, json.MatchCaseInsensitiveNames)
	return folds
}

// unmarshal scans data only if it may exceed a limit, or if an integer in it may need [Plan].readLong. The options more
// are in addition to those for the type of v; they may be nil.
func unmarshal(data []byte, v any, more json.Options) error {
	plan, text := planFor(v), Text{data: data}
	if plan.readPlain(data, v, foldsNames(more)) {
		return nil
	}
	if plan.readLong != nil || !isShallow(data) {
		var err error
		if text, err = Scan(data); err != nil {
			return err
		}
	}
	return text.unmarshal(v, plan, more)
}

// Text is a JSON text within the limits of this package, and counts of what it contains: enough to know how much memory
// its values may take before any is allocated. The length of the text does not say that: {}, is three bytes, but an
// element of a slice may be a struct of hundreds.
type Text struct {
	Elements   int // values in arrays, and the outermost value
	Members    int // of all objects
	Containers int // objects and arrays
	Filled     int // objects that are not empty

	data []byte
	long bool // there is an integer that a float64 may not hold exactly
}

// Scan makes one pass over data, and allocates nothing. It does not check that data is JSON, which [Text.Unmarshal]
// does; the counts include everything up to the first syntax error. An [*Error] names the limit that is exceeded. data
// must not be changed while the text is in use.
func Scan(data []byte) (Text, error) {
	s := scanner{text: Text{data: data}}
	if err := s.scan(data); err != nil {
		return Text{}, err
	}
	return s.text, nil
}

// Unmarshal is the package's Unmarshal for a scanned text.
func (t Text) Unmarshal(v any) error { return t.unmarshal(v, planFor(v), nil) }

// UnmarshalKnown is Unmarshal that refuses members without a field of that name.
func (t Text) UnmarshalKnown(v any) error {
	return t.unmarshal(v, planFor(v), json.RejectUnknownMembers(true))
}

// UnmarshalKnown is [Text.UnmarshalKnown] for a text that need not be scanned.
func UnmarshalKnown(data []byte, v any) error {
	return unmarshal(data, v, json.RejectUnknownMembers(true))
}

// IsUnknown reports whether an error is that of a member without a field of its name.
func IsUnknown(err error) bool {
	failed, ok := errors.AsType[*Error](err)
	return ok && failed.unknown
}

func (t Text) unmarshal(v any, plan *Plan, more json.Options) error {
	options := plan.read
	if t.long && plan.readLong != nil {
		options = plan.readLong
	}
	err := json.Unmarshal(t.data, v, options, more)
	if err == nil {
		return nil
	}
	data := t.data
	if needsIntegers(err) && !plan.keepsNotation {
		longest := integerDigits
		if plan.readLong != nil {
			longest = exactIntegerDigits
		}
		if rewritten := withIntegers(data, longest); rewritten != nil {
			data, err = rewritten, json.Unmarshal(rewritten, v, options, more)
		}
	}
	switch {
	case err == nil:
		return nil
	case plan.legacy:
		return translateLegacy(err, data)
	default:
		return translate(err, data)
	}
}

// planFor returns the plan of what v points to. If v is not a pointer, the library returns the error.
func planFor(v any) *Plan {
	if into := reflect.TypeOf(v); into != nil && into.Kind() == reflect.Pointer {
		return PlanOf(into.Elem())
	}
	return PlanOf(reflect.TypeFor[any]())
}
