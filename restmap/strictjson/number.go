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

// A json.Number is a number, as it is for encoding/json. The library takes it for the text that it is in Go, and is told
// better where there may be one: being told costs it half as much again for all else.

// newPlan makes the plan of a type, with the options of the library for what is not plain.
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

// walkNumbers says whether there is a json.Number in values of a type, and whether there may be one because anything may.
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

// marshalNumber writes the digits as they are, in quotes where a tag asks for them; "", which is the zero value, is 0.
func marshalNumber(encoder *jsontext.Encoder, number stdjson.Number) error {
	if isName(encoder.StackIndex(encoder.StackDepth())) {
		return errors.ErrUnsupported // a name is text in any case
	}
	if number == "" {
		number = "0"
	}
	if !isNumber(string(number)) {
		return fmt.Errorf("%q is no number", string(number))
	}
	if isQuoted(encoder.Options()) {
		return encoder.WriteToken(jsontext.String(string(number)))
	}
	return encoder.WriteValue(jsontext.Value(number))
}

// unmarshalNumber reads a number and keeps its digits.
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
		return decoder.SkipValue() // says what is wrong with it
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

// isQuoted says whether the tag of a field has a number as a string.
func isQuoted(options json.Options) bool {
	quoted, _ := json.GetOption(options, json.StringifyNumbers)
	return quoted
}

// isNumber says whether a text is a number of JSON, and nothing but that.
func isNumber(text string) bool {
	return strings.Trim(text, "-+.eE0123456789") == "" && stdjson.Valid([]byte(text))
}
