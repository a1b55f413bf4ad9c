package strictjson

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A json.Number is a number, as in encoding/json. The library would treat it as the string that it is in Go, and gets
// marshallers for it only for types that may contain one, because they make everything else half as slow again.

// walkNumbers reports whether values of a type contain a json.Number, and whether they may because they contain an any.
func walkNumbers(t reflect.Type, seen map[reflect.Type]bool) (number, dynamic bool) {
	switch {
	case t == reflect.TypeFor[stdjson.Number]():
		return true, false
	case seen[t] || t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer && hasMethods(t):
		return false, false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		union := UnionOf(t)
		for _, variant := range union.Structs() {
			inVariant, dynamicVariant := walkNumbers(variant, seen)
			number, dynamic = number || inVariant, dynamic || dynamicVariant
		}
		return number, dynamic || union == nil
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return walkNumbers(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			inField, dynamicField := walkNumbers(f.Type, seen)
			number, dynamic = number || inField, dynamic || dynamicField
		}
	}
	return number, dynamic
}

// marshalNumber writes the digits as they are, in quotes if a tag says so; the zero value "" becomes 0.
func marshalNumber(encoder *jsontext.Encoder, number stdjson.Number) error {
	if isName(encoder.StackIndex(encoder.StackDepth())) {
		return errors.ErrUnsupported // a name is a string in any case
	}
	if number == "" {
		number = "0"
	}
	if !isNumber(string(number)) {
		return fmt.Errorf("%q is not a number", string(number))
	}
	if isQuoted(encoder.Options()) {
		return encoder.WriteToken(jsontext.String(string(number)))
	}
	return encoder.WriteValue(jsontext.Value(number))
}

// unmarshalNumber parses a number and keeps its digits.
func unmarshalNumber(decoder *jsontext.Decoder, into *stdjson.Number) error {
	if isName(decoder.StackIndex(decoder.StackDepth())) {
		return errors.ErrUnsupported
	}
	expected := jsontext.KindNumber
	if isQuoted(decoder.Options()) {
		expected = jsontext.KindString
	}
	switch kind := decoder.PeekKind(); kind {
	case jsontext.KindNull:
		*into = ""
		return decoder.SkipValue()
	case jsontext.KindInvalid:
		return decoder.SkipValue() // returns the syntax error
	case expected:
		token, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		if text := token.String(); isNumber(text) {
			*into = stdjson.Number(text)
			return nil
		}
	}
	return &json.SemanticError{JSONKind: expected, GoType: reflect.TypeFor[stdjson.Number]()}
}

// isName reports whether the next value is the name of a member.
func isName(within jsontext.Kind, length int64) bool {
	return within == jsontext.KindBeginObject && length%2 == 0
}

// isQuoted reports whether the tag of a field has the option string.
func isQuoted(options json.Options) bool {
	quoted, _ := json.GetOption(options, json.StringifyNumbers)
	return quoted
}

// isNumber reports whether a text is exactly one JSON number.
func isNumber(text string) bool {
	return strings.Trim(text, "-+.eE0123456789") == "" && stdjson.Valid([]byte(text))
}

// exactDigits is the number of digits, without sign, up to which a float64 holds every integer exactly: up to 2^53.
const exactDigits = 15

// isLongInteger reports whether a word may be an integer that a float64 does not hold exactly.
func isLongInteger(word []byte) bool {
	for i, c := range word {
		if (c < '0' || '9' < c) && (c != '-' || i > 0) {
			return false
		}
	}
	return len(word) > exactDigits
}

// mayReadAny reports whether decoding into a type may decode into an any: one in it, or one that a method chooses which
// reads from the library's decoder.
func mayReadAny(t reflect.Type, seen map[reflect.Type]bool) bool {
	switch {
	case seen[t]:
		return false
	case t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer && readsItself(t):
		return reflect.PointerTo(t).Implements(reflect.TypeFor[json.UnmarshalerFrom]())
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		union := UnionOf(t)
		return union == nil ||
			slices.ContainsFunc(union.Structs(), func(variant reflect.Type) bool { return mayReadAny(variant, seen) })
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return mayReadAny(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if mayReadAny(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// unmarshalAny decodes an integer of 2^53 or more to an int64 or a *big.Int if the Go type is any, so that it keeps its
// digits. All other numbers become a float64, as usual.
func unmarshalAny(decoder *jsontext.Decoder, into *any) error {
	if decoder.PeekKind() != '0' {
		return errors.ErrUnsupported // the library decodes it, and calls this for the values inside
	}
	text, err := decoder.ReadValue()
	if err != nil {
		return err
	}
	number, err := parseNumber(string(text))
	if err != nil {
		return &json.SemanticError{JSONKind: '0', GoType: reflect.TypeFor[float64](), Err: strconv.ErrRange}
	}
	*into = number
	return nil
}

// parseNumber parses a JSON number. The error says that it is too large for a float64.
func parseNumber(text string) (any, error) {
	const ambiguous = 1 << 53 // as a float64 it may be the integer after it, too
	float, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, err
	}
	integer, ok := new(big.Int).SetString(text, 10)
	switch {
	case !ok || math.Abs(float) < ambiguous:
		return float, nil
	case !integer.IsInt64():
		return integer, nil
	default:
		return integer.Int64(), nil
	}
}
