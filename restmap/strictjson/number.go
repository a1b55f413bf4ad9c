package strictjson

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A json.Number is a number, as in encoding/json. The library would treat it as the string that it is in Go, and gets
// marshallers for it only for types that may contain one, because they make everything else half as slow again.

// newPlan makes the plan of a type, with the library's options for what is not plain.
func newPlan(t reflect.Type) *Plan {
	common := dialect()
	number, dynamic := walkNumbers(t, make(map[reflect.Type]bool))
	p := &Plan{make(compiler).node(t), common, common, json.JoinOptions(common, json.WithUnmarshalers(json.UnmarshalFromFunc(unmarshalAny)))}
	if number || dynamic {
		p.write = json.JoinOptions(common, json.WithMarshalers(json.MarshalToFunc(marshalNumber)))
	}
	if number {
		read := json.UnmarshalFromFunc(unmarshalNumber)
		p.read = json.JoinOptions(common, json.WithUnmarshalers(read))
		p.readLong = json.JoinOptions(common, json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(unmarshalAny), read)))
	}
	return p
}

// walkNumbers says whether values of a type contain a json.Number, and whether they may because they contain an any.
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
		return false, true
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

// isName says whether the next value is the name of a member.
func isName(within jsontext.Kind, length int64) bool {
	return within == jsontext.KindBeginObject && length%2 == 0
}

// isQuoted says whether the tag of a field has the option string.
func isQuoted(options json.Options) bool {
	quoted, _ := json.GetOption(options, json.StringifyNumbers)
	return quoted
}

// isNumber says whether a text is exactly one JSON number.
func isNumber(text string) bool {
	return strings.Trim(text, "-+.eE0123456789") == "" && stdjson.Valid([]byte(text))
}
